"""What a rule on NameNodes reads: one of them over some minutes, by its JMX. Plain frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.messages import message


@dataclass(frozen=True, slots=True)
class NameNodeReadings:
    """The NameNode that is declared on ``cluster``; readings oldest first, up to ``at_ms``.
    ``queue_ms``: mean wait of a call in the queue, of its interval of metrics. ``processing_ms``
    and ``call_queue_length``: of the newest one. ``calls_per_s`` of all clients and ``kinds``:
    between the first reading and the last one. None is unknown.
    """

    cluster: str
    at_ms: int
    queue_ms: tuple[float, ...] = ()
    processing_ms: float | None = None
    call_queue_length: int | None = None
    calls_per_s: float | None = None
    kinds: Mapping[str, float] = field(default_factory=dict)

    @property
    def called(self) -> str:
        return message("the NameNode of {cluster:name}", cluster=self.cluster)
