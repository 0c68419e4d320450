"""Samples and findings as plain JSON-compatible data and back: how they cross processes, are kept
in tests and shown by the API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.findings import Evidence, Finding, Related
from spark_jobs.diagnosis.samples import JobWindow

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
_MEMBERS = {
    part: tuple(field.name for field in fields(part)) for part in (Finding, Evidence, Related)
}
_NAMES = {
    part: frozenset(field.name for field in fields(part))
    for part in (*_PARTS.values(), *_SINGLE_PARTS.values(), JobWindow)
}


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


def recovery_point_from_plain(plain: Mapping[str, Any]) -> samples.RecoveryPoint:
    """Raises TypeError where it lacks what one cannot do without."""
    return samples.RecoveryPoint(**_known(samples.RecoveryPoint, plain))


def window_to_plain(window: JobWindow) -> dict[str, Any]:
    return asdict(window)


def finding_to_plain(finding: Finding) -> dict[str, Any]:
    """As ``asdict``, which would copy ``data``: here it is the finding's own."""
    parts = {
        "evidence": tuple(map(_members, finding.evidence)),
        "related": tuple(map(_members, finding.related)),
    }
    return _members(finding) | parts


def _members(part: Finding | Evidence | Related) -> dict[str, Any]:
    return {name: getattr(part, name) for name in _MEMBERS[type(part)]}


def _known(part: type, row: Mapping[str, Any]) -> dict[str, Any]:
    names = _NAMES[part]
    return {
        name: _frozen(value) for name, value in row.items() if name in names and value is not None
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
