"""Flink's spans and events as messages of log records: the name, and attributes that are read, as
JSON.

Source, Flink 1.20 to 2.3: ``DefaultCheckpointStatsTracker`` (1.20: ``CheckpointStatsTracker``) and
``MetricNames`` for checkpoints and initializations, ``JobFailureMetricReporter`` (1.20: a span),
``JobMaster``, ``AllSubTasksRunningOrFinishedStateTimeMetrics``.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

OPENING = "Flink reported "
TRIGGERED_MS, DURATION_MS = "triggeredMs", "durationMs"
"""Of a span: its begin, epoch ms, and how long it took."""
MAX_CHARS = 500
MAX_LABELS = 20
_LABEL = "failureLabel."
_OF_FAILURES = ("canRestart", "isGlobalFailure")
_PART_NAMES = (
    "MailboxStart",
    "ReadOutputData",
    "InitializeState",
    "DownloadState",
    "RestoreState",
    "GateRestore",
)
_OF_PARTS = (("longest", "max"), ("sum", "sum"))
"""Over the subtasks."""
_FAILED = ("FAILED", "FAILING", "RESTARTING")
_NUMBER, _TEXT = re.compile("[0-9]{1,15}"), re.compile(".+")
_FORMS = {
    "job_id": re.compile("[0-9a-f]{32}"),
    "to_state": re.compile("[A-Z_]{1,40}"),
} | dict.fromkeys(("job_name", "checkpoint_type"), _TEXT)


class ReportedEvent(NamedTuple):
    """``reason_text``: what is known of a failure. ``detail``: JSON, part of an initialization →
    ``longest`` and ``sum``, ms.
    """

    kind: str
    fields: Mapping[str, str]
    reason_text: str | None
    detail: str | None

    @property
    def is_failure(self) -> bool:
        return self.kind == _FAILURE.kind or self.fields.get("to_state") in _FAILED


class _Report(NamedTuple):
    """Attributes by field; ``fields`` may be unknown."""

    kind: str
    necessary: Mapping[str, str]
    fields: Mapping[str, str] = {}


_NAME = {"job_name": "job_name"}
_CHECKPOINT = _Report(
    "checkpoint_reported",
    {"checkpoint_id": "checkpointId", "to_state": "checkpointStatus"},
    {
        "trigger_time": TRIGGERED_MS,
        "duration_ms": DURATION_MS,
        "state_bytes": "fullSize",
        "checkpointed_bytes": "checkpointedSize",
        "checkpoint_type": "checkpointType",
        **_NAME,
    },
)
_INITIALIZATION = _Report(
    "initialization_reported",
    {"to_state": "initializationStatus", "duration_ms": DURATION_MS},
    {"checkpoint_id": "checkpointId", "state_bytes": "fullSize"},
)
_FAILURE = _Report("failure_reported", {})
_REPORTS = {
    "Checkpoint": _CHECKPOINT,
    "CheckpointEvent": _CHECKPOINT,
    "JobInitialization": _INITIALIZATION,
    "JobFailure": _FAILURE,
    "JobFailureEvent": _FAILURE,
    "JobStatusChangeEvent": _Report("job_state", {"to_state": "newJobStatus"}, _NAME),
    "AllSubtasksStatusChangeEvent": _Report("tasks_state", {"to_state": "status"}),
}
NAMES = frozenset(_REPORTS)
KINDS = tuple(dict.fromkeys(report.kind for report in _REPORTS.values()))
FIELDS = ("job_id", *_CHECKPOINT.necessary, *_CHECKPOINT.fields)
_PARTS = {
    part: {of: f"{prefix}{part}DurationMs" for of, prefix in _OF_PARTS} for part in _PART_NAMES
}
_READ = {
    "job_id",
    *_OF_FAILURES,
    *(name for names in _PARTS.values() for name in names.values()),
}.union(*({**report.necessary, **report.fields}.values() for report in _REPORTS.values()))


def message_of(name: str, attributes: Mapping[str, Any]) -> str:
    """Texts and numbers, each cut."""
    texts = {
        key: " ".join(str(attributes[key])[:MAX_CHARS].split())
        for key in [*(_READ & attributes.keys()), *_labels(attributes)]
        if isinstance(attributes[key], str | int)
    }
    return f"{OPENING}{name} {json.dumps(texts, ensure_ascii=False, sort_keys=True)}"


def event_of(message: str) -> ReportedEvent | None:
    """None if it is no such message, or a necessary attribute is unknown."""
    name, _, text = message.removeprefix(OPENING).partition(" ")
    report = _REPORTS.get(name)
    try:
        decoded = json.loads(text) if report else None
    except (ValueError, RecursionError):
        return None
    if report is None or not isinstance(decoded, dict):
        return None
    texts = {key: value for key, value in decoded.items() if isinstance(value, str)}
    necessary = {"job_id": "job_id", **report.necessary}
    fields = {
        field: texts[key]
        for field, key in {**necessary, **report.fields}.items()
        if _FORMS.get(field, _NUMBER).fullmatch(texts.get(key, ""))
    }
    if not necessary.keys() <= fields.keys():
        return None
    return ReportedEvent(
        report.kind,
        fields,
        _failure(texts) if report is _FAILURE else None,
        json.dumps(_parts_ms(texts)) if report is _INITIALIZATION else None,
    )


def _failure(texts: Mapping[str, str]) -> str:
    names = (*_OF_FAILURES, *_labels(texts))
    return ", ".join(
        f"{name.removeprefix(_LABEL)}={texts[name]}" for name in names if name in texts
    )


def _labels(attributes: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in attributes if name.startswith(_LABEL))[:MAX_LABELS]


def _parts_ms(texts: Mapping[str, str]) -> dict[str, dict[str, int]]:
    return {
        part: {of: int(texts[name]) for of, name in names.items()}
        for part, names in _PARTS.items()
        if all(_NUMBER.fullmatch(texts.get(name, "")) for name in names.values())
    }
