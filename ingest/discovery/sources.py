from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ingest.discovery.operator_report import OperatorReport
from ingest.discovery.pods import Pod
from ingest.sources import Auth, LogSource, PrometheusSource, Tls

OWN_NAMESPACE = "@own"
ADDRESS = "{service}.{namespace}:{port}"


@dataclass(frozen=True, slots=True)
class KubernetesSource:
    """``kubeconfig``: "" for the cluster that this process runs in.

    ``read``: deployments (of the operator), services (of native clusters), leaders (of high
    availability). Empty for deployments and services; then the operator need not be installed.
    ``namespaces``: empty for all; ``OWN_NAMESPACE`` for that of the service account or context.
    ``address``: template of a cluster's address, with ``{service}``, ``{namespace}``, ``{name}``
    and ``{port}``. ``leader``: use the address of the leading JobManager, if a ConfigMap has one.
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
        place = "the cluster that Weir runs in"
        if self.kubeconfig:
            place = self.kubeconfig + (f" ({self.context})" if self.context else "")
        return place + (f", namespaces {', '.join(self.namespaces)}" if self.namespaces else "")


@dataclass(frozen=True, slots=True)
class DiscoverySource:
    """One entry of ``sources:``, with exactly one of ``files``, ``url``, ``zookeeper``, ``yarn``
    and ``kubernetes``. ``cluster`` and ``labels`` are templates with a target's labels. Without
    ``cluster``, the name is the label ``cluster``, else host and port. A cluster's host must match
    a glob of ``hosts``, unless ``hosts`` is empty. ``auth``, ``tls`` and ``logs`` are for clusters,
    ``own_auth`` and ``own_tls`` for the address that lists the clusters.
    """

    name: str
    files: tuple[str, ...] = ()
    url: str = ""
    zookeeper: tuple[str, ...] = ()
    """Hosts with ports."""
    root: str = "/flink"
    """Flink's ``high-availability.zookeeper.path.root``."""
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
        if self.files:
            return "file"
        if self.url:
            return "http"
        return "yarn" if self.yarn else "zookeeper"

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
    pods: tuple[Pod, ...] | None = None


@dataclass(frozen=True, slots=True)
class RefusedTarget:
    what: str
    why: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """With an ``error``, the listing is incomplete: no cluster is removed."""

    clusters: tuple[FoundCluster, ...] = ()
    refused: tuple[RefusedTarget, ...] = ()
    error: str = ""
