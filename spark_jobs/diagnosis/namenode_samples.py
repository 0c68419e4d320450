from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.messages import message
from spark_jobs.diagnosis.findings import Subject


@dataclass(frozen=True, slots=True)
class NameNodeReadings:
    """Readings up to ``at_ms``, oldest first. ``queue_ms``: mean time of a call in the queue, of
    each reading. ``processing_ms`` and ``call_queue_length``: of the newest reading. Means between
    the first and the last reading: ``calls_per_s`` (all clients), and ``kinds`` (by kind of call).
    """

    cluster: str
    at_ms: int
    queue_ms: tuple[float, ...] = ()
    processing_ms: float | None = None
    call_queue_length: int | None = None
    calls_per_s: float | None = None
    kinds: Mapping[str, float] = field(default_factory=dict)

    @property
    def subject(self) -> Subject:
        return "cluster", "namenode", message("{cluster:name}: NameNode", cluster=self.cluster)
