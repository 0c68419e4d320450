from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ingest.discovery.operator_report import OperatorEvent
from ingest.discovery.pods import Pod


@dataclass(frozen=True, slots=True)
class Auth:
    """``basic`` uses ``user`` and ``secret``. ``bearer`` and ``api_key`` (of Elasticsearch) use
    only ``secret``. ``kerberos`` uses no field: see ``ingest.network.kerberos``.
    """

    scheme: Literal["basic", "bearer", "api_key", "kerberos"]
    secret: str = field(default="", repr=False)
    user: str = ""


@dataclass(frozen=True, slots=True)
class Tls:
    ca_file: str = ""
    client_cert_file: str = ""
    client_key_file: str = ""
    verify: bool = True


@dataclass(frozen=True, slots=True)
class LogSource:
    """``globs`` are local or any fsspec URI. ``layout`` is a log4j pattern, or ``flink``: then the
    layout is recognised. ``time_zone`` is that of lines without a zone.
    """

    globs: tuple[str, ...] = ()
    layout: str = "flink"
    time_zone: str = "UTC"
    max_bytes_per_cycle: int = 256 * 1024 * 1024
    own_globs: tuple[str, ...] = ()
    """The subset of ``globs`` for files that Weir stored for this cluster."""


@dataclass(frozen=True, slots=True)
class PrometheusSource:
    """``selector``: label matchers of this cluster's series, such as ``namespace="flink"``.
    ``ca_file``: empty for the machine's authorities. ``tenant``: for Mimir, Cortex and Thanos.
    """

    url: str
    selector: str = ""
    auth: Auth | None = None
    ca_file: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class LogStoreSource:
    """``query`` is a LogQL selector, or a query string in Lucene's syntax for documents of the
    index pattern ``index``. ``spool``: the folder where its lines wait to be read.
    """

    kind: Literal["loki", "elasticsearch", "opensearch"]
    url: str
    query: str = ""
    index: str = ""
    tenant: str = ""
    auth: Auth | None = None
    spool: str = ""
    backfill_s: float = 24 * 3600


@dataclass(frozen=True, slots=True)
class MetadataRoot:
    """A registered root. ``uri`` is canonical. ``read_at`` is where the same tree is read, "" for
    ``uri`` itself. ``clusters`` are those for which it is read; empty for all.
    """

    uri: str
    read_at: str = ""
    clusters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetadataSource:
    """Which ``_metadata`` may be read as evidence: files below the cluster's ``roots``, and local
    files in directories that ``WEIR_READ_DIRS`` lists.

    ``roots`` are all registered roots: nothing below a root of other clusters is read. ``aliases``
    are other spellings of prefixes.
    """

    enabled: bool = True
    roots: tuple[MetadataRoot, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    files_per_cycle: int = 20
    file_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ClusterSource:
    name: str
    url: str = ""
    history_url: str = ""
    auth: Auth | None = None
    tls: Tls = Tls()
    logs: LogSource = LogSource()
    prometheus: PrometheusSource | None = None
    log_store: LogStoreSource | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    pushed_metrics: str = ""
    metadata: MetadataSource = MetadataSource()
    metrics_interval_s: float = 30
    request_timeout_s: float = 10
    operator_events: tuple[OperatorEvent, ...] = ()
    pods: tuple[Pod, ...] = ()
    thread_dumps: tuple[str, ...] = ()
