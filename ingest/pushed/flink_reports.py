"""Flink's spans and events as lines that the pattern table reads, each with the job and the instant.

Source, Flink 1.20 to 2.3: ``DefaultCheckpointStatsTracker`` (1.20: ``CheckpointStatsTracker``) and
``MetricNames`` for checkpoints and initializations, ``JobFailureMetricReporter`` (1.20: a span),
``JobMaster``, ``AllSubTasksRunningOrFinishedStateTimeMetrics``. ``OpenTelemetryTraceReporter`` and
``OpenTelemetryEventReporter`` name the class as scope, and add the variables of the job's metrics.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ingest.flink_ids import is_flink_id
from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS
from ingest.pushed.entries import Entry, Processes, entry_of
from ingest.records import Skip

INITIALIZATION_PARTS = (
    "MailboxStart",
    "ReadOutputData",
    "InitializeState",
    "DownloadState",
    "RestoreState",
    "GateRestore",
)
"""In ``max…DurationMs`` and ``sum…DurationMs``, over the subtasks."""
MAX_CHARS = 500
MAX_LABELS = 20
_PACKAGE = "org.apache.flink.runtime."
_NUMBER = re.compile(r"[0-9]{1,15}")
_STATE, _ANY = re.compile(r"[A-Z_]{1,40}"), re.compile(r".+")
_FAILURE = ("canRestart", "isGlobalFailure")
_LABEL = "failureLabel."


class Report(NamedTuple):
    """A span, or an event, which has no ``begun_ms``. Instants are epoch ms. ``ended_ms`` of a
    failed checkpoint is its last acknowledgement: Flink reports no instant of the failure.
    """

    scope: str
    name: str
    begun_ms: int | None
    ended_ms: int | None
    attributes: Mapping[str, Any]

    @property
    def text(self) -> str | None:
        """None if it is not read: its job or another necessary value is unknown."""
        is_of_job = is_flink_id(self.attributes.get("job_id"))
        text = _TEXTS[_class_of(self.scope), self.name](self) if is_of_job else None
        return text and f"Flink reported {text}"

    @property
    def duration_ms(self) -> int | None:
        if self.begun_ms is None or self.ended_ms is None or self.ended_ms < self.begun_ms:
            return None
        return self.ended_ms - self.begun_ms

    @property
    def of_job(self) -> str:
        return f"of job {self.attributes['job_id']}"

    @property
    def named(self) -> str:
        return self.words("job_name", ", name {}")

    def number(self, name: str, words: str = "{}") -> str:
        """``words`` with the value, or "" if there is none, as with the next two."""
        return self._worded(name, words, _NUMBER)

    def state(self, name: str, words: str = "{}") -> str:
        return self._worded(name, words, _STATE)

    def words(self, name: str, words: str = "{}") -> str:
        return self._worded(name, words, _ANY)

    def _worded(self, name: str, words: str, form: re.Pattern[str]) -> str:
        value = self.attributes.get(name)
        text = " ".join(str(value)[:MAX_CHARS].split()) if isinstance(value, str | int) else ""
        return words.format(text) if form.fullmatch(text) else ""


def is_read(scope: str, name: str) -> bool:
    return scope.startswith(_PACKAGE) and (_class_of(scope), name) in _TEXTS


def instant_ms(nanoseconds: str) -> int | None:
    """Flink reports -1 ms for no instant, which OTLP makes a large number."""
    try:
        at_ms = int(nanoseconds) // 1_000_000
    except ValueError:
        return None
    return at_ms if 0 < at_ms < LAST_INSTANT_MS else None


def instant_text(at: datetime) -> str:
    """As Flink's appenders write it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def entry_of_report(
    report: Report, origin: Mapping[str, str], processes: Processes
) -> Entry | Skip:
    at_ms = max(report.begun_ms or 0, report.ended_ms or 0)
    text = report.text if at_ms else None
    record = {
        "@timestamp": instant_text(datetime.fromtimestamp(at_ms / 1000, UTC)),
        "log.level": "INFO",
        "log.logger": report.scope,
        "message": text,
    }
    about = {"host": report.attributes.get("host"), **origin}
    entry = entry_of(record, about, process_at=processes) if text else None
    subject = f"{report.name} of {report.attributes.get('job_id') or 'no job'}"
    return entry or Skip(
        ascii(subject[:80]), "bad_payload", "Its job, its instant or another value is unknown."
    )


def _checkpoint(report: Report) -> str | None:
    number, state = report.number("checkpointId"), report.state("checkpointStatus")
    if not number or not state:
        return None
    is_timed = state == "COMPLETED" and report.duration_ms is not None
    return "".join(
        (
            f"checkpoint {number} {report.of_job} as {state}",
            "" if report.begun_ms is None else f", triggered @ {report.begun_ms}",
            f", in {report.duration_ms} ms" if is_timed else "",
            report.number("fullSize", ", full {} bytes"),
            report.number("checkpointedSize", ", written {} bytes"),
            report.words("checkpointType", ", type '{}'"),
            report.named,
        )
    )


def _initialization(report: Report) -> str | None:
    state = report.state("initializationStatus")
    if not state or report.duration_ms is None:
        return None
    longest, total = (
        [report.number(f"{of}{part}DurationMs") for part in INITIALIZATION_PARTS]
        for of in ("max", "sum")
    )
    parts = zip(INITIALIZATION_PARTS, longest, total, strict=True)
    return "".join(
        (
            f"the initialization {report.of_job} as {state}",
            report.number("checkpointId", " from checkpoint {}"),
            report.number("fullSize", ", full {} bytes"),
            f", in {report.duration_ms} ms (longest/sum over subtasks): ",
            ", ".join(f"{part} {most}/{all_} ms" for part, most, all_ in parts if most and all_),
        )
    )


def _failure(report: Report) -> str:
    labels = sorted(name for name in report.attributes if name.startswith(_LABEL))[:MAX_LABELS]
    values = (
        f"{' '.join(name.removeprefix(_LABEL)[:MAX_CHARS].split())}={report.words(name)}"
        for name in (*_FAILURE, *labels)
        if name in report.attributes
    )
    return f"a failure {report.of_job}: {', '.join(values)}"


def _job_state(report: Report) -> str | None:
    state = report.state("newJobStatus")
    return state and f"the state {report.of_job} as {state}{report.named}"


def _tasks_state(report: Report) -> str | None:
    state = report.state("status")
    return state and f"the state of all tasks {report.of_job} as {state}"


def _class_of(scope: str) -> str:
    return scope.rpartition(".")[2]


_TRACKER, _FAILURES = "CheckpointStatsTracker", "JobFailureMetricReporter"
_TEXTS: Mapping[tuple[str, str], Callable[[Report], str | None]] = {
    (_TRACKER, "Checkpoint"): _checkpoint,
    (_TRACKER, "CheckpointEvent"): _checkpoint,
    (_TRACKER, "JobInitialization"): _initialization,
    (_FAILURES, "JobFailure"): _failure,
    (_FAILURES, "JobFailureEvent"): _failure,
    ("JobMaster", "JobStatusChangeEvent"): _job_state,
    ("AllSubTasksRunningOrFinishedStateTimeMetrics", "AllSubtasksStatusChangeEvent"): _tasks_state,
}
"""Text by class and name."""
