from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from zstandard import ZstdCompressor, ZstdDecompressor

from spark_jobs.fold.older_facts import OlderFacts
from spark_jobs.fold.rows import RowList

_NAMES, _VALUES = "names", "values"


@dataclass(frozen=True)
class JobState:
    """``checkpoints``, ``vertex_checkpoints``, ``lines``: rows of the checkpoints in ``anchors``;
    rows of others triggered up to ``released_to`` are only in the lake. ``facts``: since
    ``facts_since`` (None: all), and earlier pending facts. ``stand_ins``: facts whose trigger no
    source reported. ``unplaced``: executions without a known task or host, by checkpoint.
    ``reported_…``: hashes of the last results. ``judged_start``, ``judged_to``: start and end of
    the newest judged window.
    """

    answers: RowList = ()
    events: RowList = ()
    placements: RowList = ()
    pressure: RowList = ()
    vertex_windows: RowList = ()
    counters: RowList = ()
    gauges: RowList = ()
    failures: RowList = ()
    uploads: RowList = ()
    snapshots: RowList = ()
    vertex_states: RowList = ()
    checkpoints: RowList = ()
    vertex_checkpoints: RowList = ()
    lines: RowList = ()
    anchors: RowList = ()
    released_to: int | None = None
    triggers: RowList = ()
    stand_ins: RowList = ()
    unplaced: RowList = ()
    facts: RowList = ()
    facts_since: int | None = None
    older: OlderFacts = field(default_factory=OlderFacts)
    outages: RowList = ()
    restarts: Sequence[int] = ()
    starts: RowList = ()
    taskmanager_losses: RowList = ()
    taskmanagers: RowList = ()
    reported_annotations: Sequence[int] = ()
    reported_hosts: int | None = None
    judged_start: int | None = None
    judged_to: int | None = None
    judged_runs: RowList = ()

    def packed(self) -> bytes:
        fields = vars(self) | {"older": vars(self.older)}
        # Answers of one job repeat its plan and its settings word for word.
        return ZstdCompressor(level=1).compress(
            orjson.dumps({name: _table(value) for name, value in fields.items()})
        )


def unpacked(packed: bytes | None) -> JobState:
    """Unknown fields are ignored. Raises ValueError or ZstdError."""
    if packed is None:
        return JobState()
    values: Mapping[str, Any] = orjson.loads(ZstdDecompressor().decompress(packed))
    fields = _known_fields(JobState, values)
    older = _known_fields(OlderFacts, fields.get("older", {}))
    return JobState(**fields | {"older": OlderFacts(**older)})


def _known_fields(class_: type[JobState | OlderFacts], values: Mapping[str, Any]) -> dict[str, Any]:
    names = class_.__dataclass_fields__
    return {name: _rows(value) for name, value in values.items() if name in names}


def _table(value: Any) -> Any:
    """Rows with equal columns as names and lists of values; any other value unchanged."""
    if not isinstance(value, list | tuple) or len(value) < 2 or not isinstance(value[0], Mapping):
        return value
    shapes = set(map(tuple, value))
    return (
        value
        if len(shapes) > 1
        else {_NAMES: shapes.pop(), _VALUES: [list(row.values()) for row in value]}
    )


def _rows(value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() == {_NAMES, _VALUES}:
        names = value[_NAMES]
        return [dict(zip(names, row, strict=True)) for row in value[_VALUES]]
    return value
