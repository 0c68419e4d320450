"""Rows of :mod:`spark_jobs.transforms.job_windows`, as they reach a Python worker, dealt out to job windows.

Executors import this module: nothing but Arrow and the diagnosis core. Columns are taken apart at once, since
asking Arrow for one nested value after the other takes ten times as long.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.samples import CheckpointConfig, CheckpointSample, JobWindow
from spark_jobs.diagnosis.window_contents import (
    ANNOTATIONS,
    CHECKPOINTS,
    EVENTS,
    FAILURES,
    PAST_WINDOWS,
    TREND_AHEAD_MS,
    UPLOADS,
    WINDOW_MS,
    Timed,
    as_known_at,
    checkpoint_config,
    is_terminal,
    newest,
)

PartT = TypeVar("PartT")


@dataclass(frozen=True, slots=True)
class WindowRow:
    """One row: the windows of one job to judge, and what surrounds them."""

    cluster: str
    job_id: str
    newest_ms: int
    window_starts_ms: list[int]
    windows: list[JobWindow]


def rows_of(batch: pa.RecordBatch) -> Iterator["WindowRow | Exception"]:
    """The rows of a batch in their order; an exception in place of a row that cannot be read."""
    columns = _Columns(batch)
    for place in range(batch.num_rows):
        try:
            yield columns.row(place)
        except Exception as error:
            yield error


class _Columns:
    """The columns of a batch as Python lists, one entry a row."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        def column(name: str) -> pa.Array:
            return batch.column(batch.schema.get_field_index(name))

        self.cluster, self.job_id, self.newest_ms = (_plain(column(name)) for name in ("cluster", "job_id", "newest_ms"))
        self.windows = _plain(column("windows"))
        self.job, self.size_trend = _dicts(column("job")), _parts(column("size_trend"), samples.SizeTrend)
        self.vertex_windows = _cut(column("vertex_windows"), _vertex_windows)
        self.states_now, self.states_before = (_states(column(name)) for name in ("states_now", "states_before"))
        self.states = _cut(column("states"), lambda flat: list(zip(*(_plain(child) for child in flat.flatten()), strict=True)))
        self.checkpoints = _timed(column("checkpoints"), CheckpointSample)
        self.annotations = _timed(column("annotations"), samples.Annotation)
        self.failures = _timed(column("failures"), samples.JobFailure)
        self.events = _timed(column("events"), samples.LogEvent)
        self.past = _timed(column("past"), samples.VertexPast)
        self.uploads = _timed(column("uploads"), samples.UploadedFiles)

    def row(self, place: int) -> WindowRow:
        cluster, job_id, starts = self.cluster[place], self.job_id[place], self.windows[place]
        job = self.job[place] or {}
        plan = _plan(job.get("graph") or "{}")
        config = _config(job.get("checkpoint_config") or "{}")
        in_window: dict[int, list[samples.VertexWindow]] = {}
        for start_ms, vertex in self.vertex_windows[place]:
            in_window.setdefault(start_ms, []).append(vertex)
        windows = []
        for start_ms in starts:
            end_ms = start_ms + WINDOW_MS
            trend = self.size_trend[place]
            state = _state(job, self.states[place], end_ms, is_newest=self.newest_ms[place] < end_ms)
            windows.append(
                JobWindow(
                    cluster=cluster,
                    job_id=job_id,
                    at_ms=min(end_ms, self.newest_ms[place]),
                    window_start_ms=start_ms,
                    job_name=job.get("name"),
                    state=state,
                    terminal=is_terminal(state),
                    start_time_ms=job.get("start_time_ms"),
                    flink_version=job.get("flink_version"),
                    vertices=plan[0],
                    edges=plan[1],
                    vertex_windows=tuple(sorted(in_window.get(start_ms, ()), key=attrgetter("vertex_id"))),
                    past=_past(self.past[place], start_ms),
                    checkpoints=tuple(as_known_at(one, end_ms) for one in newest(self.checkpoints[place], end_ms, CHECKPOINTS)),
                    vertex_states=self._vertex_states(place, end_ms),
                    annotations=tuple(newest(self.annotations[place], end_ms, ANNOTATIONS)),
                    failures=tuple(newest(self.failures[place], end_ms, FAILURES)),
                    events=tuple(newest(self.events[place], end_ms, EVENTS)),
                    size_trend=trend if trend and (trend.to_time_ms or 0) < end_ms + TREND_AHEAD_MS else None,
                    config=config,
                    uploads=tuple(newest(self.uploads[place], end_ms, UPLOADS)),
                )
            )
        return WindowRow(cluster, job_id, self.newest_ms[place], starts, windows)

    def _vertex_states(self, place: int, end_ms: int) -> tuple[samples.VertexState, ...]:
        for at_ms, states in (self.states_now[place], self.states_before[place]):
            if at_ms is not None and at_ms < end_ms:
                return tuple(states)
        return ()


def _past(timed: Timed, start_ms: int) -> tuple[samples.VertexPast, ...]:
    """The windows before, the last ones of each vertex, oldest first."""
    before = timed[1][: bisect_left(timed[0], start_ms)]
    by_vertex = groupby(sorted(before, key=attrgetter("vertex_id", "window_start_ms")), attrgetter("vertex_id"))
    kept = (one for _vertex, windows in by_vertex for one in list(windows)[-PAST_WINDOWS:])
    return tuple(sorted(kept, key=attrgetter("window_start_ms", "vertex_id")))


def _state(job: dict[str, Any], states: Sequence[tuple[int, str]], end_ms: int, is_newest: bool) -> str | None:
    """The job's state at the end of the window: the one entered last, and for the newest window what was reported last."""
    ended_ms = job.get("end_time_ms")
    if is_newest or (ended_ms is not None and ended_ms < end_ms):
        return job.get("state")
    entered = max(((at_ms, state) for at_ms, state in states if at_ms < end_ms), default=(0, None))
    return entered[1]


_DOCUMENTS: dict[str, Any] = {"declines": (), "not_acknowledged": (), "late_messages": (), "detail": {}, "fields": {}}
"""Fields that come as JSON text, and what they are where there is none. The ``detail`` of a log event is plain text."""


def _document(text: str | None, otherwise: Any) -> Any:
    document = json.loads(text) if text else None
    return otherwise if document is None else tuple(document) if isinstance(document, list) else document


@lru_cache(maxsize=256)
def _plan(graph: str) -> tuple[tuple[samples.Vertex, ...], tuple[samples.Edge, ...]]:
    plan = json.loads(graph)
    vertices = (
        samples.Vertex(one["vertex_id"], one.get("name") or one["vertex_id"], one.get("parallelism")) for one in plan.get("vertices") or ()
    )
    edges = (samples.Edge(one["source"], one["target"], one.get("ship_strategy")) for one in plan.get("edges") or ())
    return tuple(vertices), tuple(edges)


@lru_cache(maxsize=256)
def _config(document: str) -> CheckpointConfig:
    return checkpoint_config(json.loads(document))


# Arrow arrays, taken apart.


def _plain(array: pa.Array) -> list[Any]:
    """An array of plain values or of lists as a Python list, nulls as None."""
    if pa.types.is_list(array.type):
        return _cut(array, _plain)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        texts = array.dictionary_encode()
        known = texts.dictionary.to_pylist()
        return [None if place is None else known[place] for place in texts.indices.to_pylist()]
    if pa.types.is_null(array.type) or pa.types.is_boolean(array.type):
        return array.to_pylist()  # type: ignore[no-any-return]
    if not array.null_count:
        return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).tolist()
    missing = pc.is_null(array).to_numpy(zero_copy_only=False).tolist()
    return [None if lacks else value for value, lacks in zip(values, missing, strict=True)]


def _cut(array: pa.ListArray, read: Any) -> list[list[Any]]:
    """For each row of a list column its slice of what ``read`` makes of all elements; [] for null."""
    flat = read(array.flatten())
    cut, begin = [], 0
    for length in pc.fill_null(pc.list_value_length(array), 0).to_pylist():
        cut.append(flat[begin : begin + length])
        begin += length
    return cut


def _fields(array: pa.StructArray) -> dict[str, list[Any]]:
    return {field.name: _plain(child) for field, child in zip(array.type, array.flatten(), strict=True)}


def _dicts(array: pa.StructArray) -> list[dict[str, Any] | None]:
    values = _fields(array)
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def _parts(array: pa.StructArray, part: type[PartT]) -> list[PartT | None]:
    """A sample for each struct, None for null; fields come in the order of the sample."""
    values = _fields(array)
    for name in _DOCUMENTS.keys() & values.keys():
        if not (part is samples.LogEvent and name == "detail"):
            values[name] = [_document(text, _DOCUMENTS[name]) for text in values[name]]
    made = [part(*row) for row in zip(*values.values(), strict=True)]
    return [one if valid else None for one, valid in zip(made, pc.is_valid(array).to_pylist(), strict=True)]


def _timed(array: pa.ListArray, part: type[PartT]) -> list[Timed]:
    """Lists of structs of ``at`` and ``row``, ordered by ``at``."""

    def read(flat: pa.StructArray) -> list[tuple[int, PartT | None]]:
        at, row = flat.flatten()
        return list(zip(_plain(at), _parts(row, part), strict=True))

    return [([at for at, _ in row], [one for _, one in row]) for row in _cut(array, read)]


def _vertex_windows(flat: pa.StructArray) -> list[tuple[int, samples.VertexWindow]]:
    """Pairs of window start and sample; values per subtask that nobody reported become empty."""
    columns = {field.name: child for field, child in zip(flat.type, flat.flatten(), strict=True)}
    starts = _plain(columns.pop("window_start_ms"))
    values = [_per_subtask(column) if pa.types.is_list(column.type) else _plain(column) for column in columns.values()]
    return [(start, samples.VertexWindow(*row)) for start, *row in zip(starts, *values, strict=True)]


def _per_subtask(array: pa.ListArray) -> list[tuple[Any, ...]]:
    flat = array.flatten()
    if flat.null_count == len(flat):
        return [()] * len(array)
    values, cut, begin = _plain(flat), [], 0
    for length in pc.fill_null(pc.list_value_length(array), 0).to_pylist():
        part = tuple(values[begin : begin + length])
        cut.append(() if flat.null_count and part.count(None) == length else part)
        begin += length
    return cut


def _states(array: pa.StructArray) -> list[tuple[int | None, list[samples.VertexState]]]:
    at, states = array.flatten()

    def read(flat: pa.StructArray) -> list[samples.VertexState]:
        rows = zip(*(_plain(child) for child in flat.flatten()), strict=True)
        return [samples.VertexState(vertex_id, checkpoint_id, at_ms, tuple(sizes)) for vertex_id, checkpoint_id, at_ms, sizes in rows]

    return list(zip(_plain(at), _cut(states, read), strict=True))
