from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ingest.discovery.operator_report import OperatorReport
from ingest.sources import Auth, LogSource, PrometheusSource, Tls

OWN_NAMESPACE = "@own"
ADDRESS = "{service}.{namespace}:{port}"


@dataclass(frozen=True, slots=True)
class KubernetesSource:
    """``kubeconfig`` "" is the cluster that this process runs in.

    ``read``: deployments (of the operator), services (of native clusters), leaders (of high
    availability); empty is the first two, of which the operator's resources need not be installed.
    ``namespaces``: empty for all; :data:`OWN_NAMESPACE` is that of the service account or the
    context. ``address``: where a cluster is asked, with ``{service}``, ``{namespace}``, ``{name}``
    and ``{port}``. ``leader``: ask the leading JobManager instead, where a ConfigMap names it.
    """

    kubeconfig: str = ""
    context: str = ""
    namespaces: tuple[str, ...] = ()
    selector: str = ""
    read: tuple[str, ...] = ()
    address: str = ADDRESS
    leader: bool = False

    @property
    def place(self) -> str:
        where = (
            f"{self.kubeconfig}{f' ({self.context})' if self.context else ''}"
            if self.kubeconfig
            else "the cluster that Weir runs in"
        )
        return where + (f", namespaces {', '.join(self.namespaces)}" if self.namespaces else "")


@dataclass(frozen=True, slots=True)
class DiscoverySource:
    """One entry of ``sources:``; exactly one of ``files``, ``url``, ``zookeeper``, ``yarn`` and
    ``kubernetes`` is given. ``cluster`` and ``labels`` are templates of a target's labels;
    ``cluster`` "" takes the label ``cluster``, else host and port. ``hosts``: globs, one of which
    a cluster's host must match; empty for any. ``auth``, ``tls`` and ``logs`` are of the clusters,
    ``own_…`` of the address that lists them.
    """

    name: str
    files: tuple[str, ...] = ()
    url: str = ""
    zookeeper: tuple[str, ...] = ()
    """With ports; ``root`` is Flink's ``high-availability.zookeeper.path.root``."""
    root: str = "/flink"
    yarn: str = ""
    kubernetes: KubernetesSource | None = None
    own_auth: Auth | None = None
    own_tls: Tls | None = None
    refresh_s: int = 15
    cluster: str = ""
    scheme: Literal["http", "https"] = "http"
    labels: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    auth: Auth | None = None
    tls: Tls | None = None
    logs: LogSource | None = None
    prometheus: PrometheusSource | None = None

    @property
    def kind(self) -> str:
        if self.kubernetes:
            return "kubernetes"
        return (
            "file" if self.files else "http" if self.url else "yarn" if self.yarn else "zookeeper"
        )

    @property
    def place(self) -> str:
        if self.kubernetes:
            return self.kubernetes.place
        return (
            ", ".join(self.files)
            or self.url
            or self.yarn
            or f"{','.join(self.zookeeper)}{self.root}"
        )


@dataclass(frozen=True, slots=True)
class FoundCluster:
    name: str
    url: str
    labels: Mapping[str, str] = field(default_factory=dict)
    operator: OperatorReport | None = None


@dataclass(frozen=True, slots=True)
class RefusedTarget:
    """``name`` is the cluster's if known, else ""."""

    what: str
    why: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """With an ``error`` it is incomplete: clusters missing from it are not removed."""

    clusters: tuple[FoundCluster, ...] = ()
    refused: tuple[RefusedTarget, ...] = ()
    error: str = ""
