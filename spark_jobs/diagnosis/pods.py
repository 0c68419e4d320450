"""Pods of TaskManagers that wait, as an API server lists them (``ingest.pod_log``)."""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.messages import Message, list_text, message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause
from spark_jobs.diagnosis.failure_causes.table import cause_of
from spark_jobs.diagnosis.findings import Evidence
from spark_jobs.diagnosis.last_result import caches_last_result
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from spark_jobs.diagnosis.stack_traces import without_middle

WAITING, ENDED = "pod_waiting", "pod_ended"
POD_KINDS = (WAITING, ENDED, "pod_started", "pod_removed")
REASON_CHARS = 300


@dataclass(frozen=True, slots=True)
class WaitingPods:
    """``since_ms``: when the first began to wait. ``reason``: of the newest. ``cause``: of the
    wait or, where its container ends again and again, of its last end.
    """

    names: tuple[str, ...]
    since_ms: int
    reason: str
    cause: FailureCause | None

    @property
    def sentence(self) -> Message:
        return message(
            "Pods that wait: {names:name} ({reason:text}).",
            names=list_text(self.names),
            reason=self.reason,
        )

    @property
    def evidence(self) -> Evidence:
        return Evidence(message("pods that wait"), len(self.names), "count", note=self.reason)


@caches_last_result()
def waiting_pods(window: JobWindow) -> WaitingPods | None:
    """Pods of which nothing newer is known than that they wait."""
    newest: dict[str, LogEvent] = {}
    ends: dict[str, LogEvent] = {}
    for event in _in_order(window.events):
        newest[event.container or ""] = event
        if event.kind == ENDED:
            ends[event.container or ""] = event
    waits = _in_order([event for event in newest.values() if event.kind == WAITING])
    if not waits:
        return None
    last = waits[-1]
    last_end = ends.get(last.container or "")
    return WaitingPods(
        tuple(event.container or "" for event in waits),
        waits[0].at_ms,
        without_middle(_reason(last), REASON_CHARS),
        cause_of(_reason(last)) or (cause_of(_reason(last_end)) if last_end else None),
    )


def _in_order(events: Sequence[LogEvent]) -> list[LogEvent]:
    """A container waits from the second on in which the one before it ended."""
    of_pods = (event for event in events if event.kind in POD_KINDS)
    return sorted(of_pods, key=lambda event: (event.at_ms, event.kind == WAITING))


def _reason(event: LogEvent) -> str:
    return str(event.fields.get("reason_text") or event.message or "")
