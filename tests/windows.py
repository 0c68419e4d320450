"""Job windows that Spark made of the recordings, as plain Python: what rules are tested against."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.samples import JobWindow

FOLDER = Path(__file__).parent / "fixtures" / "windows"

_PARTS: dict[str, type] = {
    "vertices": samples.Vertex,
    "edges": samples.Edge,
    "vertex_windows": samples.VertexWindow,
    "past": samples.VertexPast,
    "checkpoints": samples.CheckpointSample,
    "vertex_states": samples.VertexState,
    "annotations": samples.Annotation,
    "starts": samples.JobStart,
    "failures": samples.JobFailure,
    "events": samples.LogEvent,
    "gaps": samples.SourceGap,
    "uploads": samples.UploadedFiles,
    "taskmanagers": samples.TaskManagerSample,
    "gauges": samples.VertexGauges,
}
_SINGLE_PARTS: dict[str, type] = {
    "size_trend": samples.SizeTrend,
    "config": samples.CheckpointConfig,
    "recovery_point": samples.RecoveryPoint,
    "earlier": samples.EarlierAttempt,
}
_NAMES = {
    part: frozenset(field.name for field in fields(part))
    for part in (*_PARTS.values(), *_SINGLE_PARTS.values(), JobWindow)
}


def recorded() -> list[str]:
    """Names of all recordings there are windows of: ``1.20.5-B``."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))


@cache
def recorded_windows(name: str) -> tuple[JobWindow, ...]:
    """The windows of one recording, by job and time."""
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(window_from_plain(json.loads(line)) for line in lines)


def window_to_plain(window: JobWindow) -> dict[str, Any]:
    return asdict(window)


def window_from_plain(plain: Mapping[str, Any]) -> JobWindow:
    """Inverse of :func:`window_to_plain`.

    Names it does not know are left out, missing and null ones take their default.
    """
    values = _known(JobWindow, plain)
    for name, part in _PARTS.items():
        if name in values:
            values[name] = tuple(part(**_known(part, row)) for row in values[name])
    for name, part in _SINGLE_PARTS.items():
        if name in values:
            values[name] = part(**_known(part, values[name]))
    return JobWindow(**values)


def _known(part: type, row: Mapping[str, Any]) -> dict[str, Any]:
    names = _NAMES[part]
    return {
        name: _frozen(value) for name, value in row.items() if name in names and value is not None
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
