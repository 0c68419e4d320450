from dataclasses import asdict, dataclass
from typing import Any, Literal

from ingest.json_members import member

MAX_EVENTS = 50
MAX_JOBS = 50
MAX_SNAPSHOTS = 50
_READY = "READY"
_UPGRADES = ("UPGRADING", "ROLLING_BACK")

State = Literal["", "broken", "suspended"]


@dataclass(frozen=True, slots=True)
class OperatorEvent:
    at_ms: int
    reason: str
    job_id: str
    message: str
    path: str = ""
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class ReportedJob:
    resource: str
    name: str
    job_id: str
    state: str
    lifecycle: str
    error: str


@dataclass(frozen=True, slots=True)
class ReportedSnapshot:
    """A ``FlinkStateSnapshot`` with trouble. ``deleted_at_ms``: when its deletion was asked for,
    for which it still waits. ``has_owner``: whether its job resource exists.
    """

    name: str
    state: str
    failures: int = 0
    error: str = ""
    path: str = ""
    deleted_at_ms: int | None = None
    has_owner: bool = True


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """Words of the status are in upper case; "" if unknown. ``blue_green``: state of the
    ``FlinkBlueGreenDeployment`` whose active deployment ``resource`` is; the other one is among
    ``jobs``.
    """

    resource: str
    lifecycle: str
    job_manager: str
    reconciliation: str
    error: str
    suspended: bool = False
    jobs: tuple[ReportedJob, ...] = ()
    events: tuple[OperatorEvent, ...] = ()
    blue_green: str = ""
    snapshots: tuple[ReportedSnapshot, ...] = ()

    @property
    def state(self) -> State:
        """``broken`` if no JobManager runs or starts, ``suspended`` if none should run. "" if a
        JobManager is ready: REST shows the state, and an error may be only a refused change.
        """
        if self.job_manager == _READY:
            return ""
        if self.error or self.job_manager == "ERROR" or self.lifecycle == "FAILED":
            return "broken"
        if self.suspended or self.lifecycle == "SUSPENDED":
            return "suspended"
        # MISSING is also a state of a new resource, and of one during an upgrade.
        is_changing = (
            self.lifecycle in ("", "CREATED", *_UPGRADES) or self.reconciliation in _UPGRADES
        )
        return "broken" if self.job_manager == "MISSING" and not is_changing else ""

    @property
    def sentence(self) -> str:
        words = [self.lifecycle.lower().replace("_", " ")] if self.lifecycle else []
        if self.job_manager and self.job_manager != _READY:
            words.append(f"JobManager {self.job_manager.lower().replace('_', ' ')}")
        if self.blue_green:
            words.append(self.blue_green.lower().replace("_", " "))
        jobs = map(_job_words, self.jobs)
        return "; ".join(filter(None, [", ".join([*words, *jobs]), self.error]))

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"sentence": self.sentence}


def _job_words(job: ReportedJob) -> str:
    error = f" ({job.error})" if job.error else ""
    return f"{job.name} {job.state.lower() or 'without a state'}{error}"


def events_of(report: Any) -> tuple[OperatorEvent, ...]:
    entries = member(report, "events")
    events = (
        _event(entry)
        for entry in (entries if isinstance(entries, list | tuple) else ())[:MAX_EVENTS]
        if isinstance(entry, dict)
    )
    return tuple(filter(None, events))


def _event(event: dict[str, Any]) -> OperatorEvent | None:
    texts = [event.get(name) for name in ("reason", "job_id", "message", "path")]
    at_ms = event.get("at_ms")
    if not isinstance(at_ms, int) or not all(isinstance(text, str) for text in texts):
        return None
    reason, job_id, message, path = (str(text) for text in texts)
    return OperatorEvent(at_ms, reason, job_id, message, path, bool(event.get("is_warning")))
