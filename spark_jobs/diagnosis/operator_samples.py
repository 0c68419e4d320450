from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.findings import Subject


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """A ``FlinkStateSnapshot`` with trouble: see ``ingest.discovery.operator_report``."""

    name: str
    state: str = ""
    failures: int = 0
    error: str = ""
    path: str = ""
    deleted_at_ms: int | None = None
    has_owner: bool = True


@dataclass(frozen=True, slots=True)
class OperatorStatus:
    """What the resources of the Flink Kubernetes Operator say of a cluster at ``at_ms``.
    ``errors``: resource → reconciliation error. ``is_down``: no JobManager runs.
    """

    cluster: str
    at_ms: int
    errors: tuple[tuple[str, str], ...] = ()
    is_down: bool = False
    snapshots: tuple[StateSnapshot, ...] = ()

    @property
    def subject(self) -> Subject:
        name = message("{cluster:name}: Kubernetes operator", cluster=self.cluster)
        return "cluster", "operator", name
