"""Samples of a job: rows of the fold → ``spark_jobs.diagnosis.samples``, in order of time."""

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, TypeVar, cast

from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.registry import events_read
from spark_jobs.diagnosis.stack_traces import condensed
from spark_jobs.diagnosis.window_contents import DETAIL_CHARS, MESSAGE_CHARS, PAST_WINDOWS, Timed
from spark_jobs.fold.rows import Row, Rows, iso, rank
from spark_jobs.serving import CHECKPOINT_FACT, LOG_EVENT_FIELDS

PAST_MS = 2 * 3600 * 1000

SampleT = TypeVar("SampleT")


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


_PER_SUBTASK = tuple(
    index for index, field in enumerate(fields(samples.VertexWindow)) if field.default == ()
)
"""Indexes of the fields of ``VertexWindow`` that have a value per subtask."""
_DOCUMENTS: Row = {
    "detail": {},
    **{column.name: () for column in CHECKPOINT_FACT.columns if column.kind == "json"},
}
_COLUMN_OF: dict[tuple[type, str], str] = {
    (samples.JobFailure, "name"): "exception_name",
    (samples.JobFailure, "at_ms"): "ts",
    (samples.TaskManagerSample, "at_ms"): "ts",
    (samples.VertexGauges, "at_ms"): "ts",
}


@dataclass(frozen=True)
class History:
    """``states``: of the job, by instant. ``vertex_states``: the newest in each ten minutes."""

    checkpoints: Timed
    annotations: Timed
    starts: Timed
    failures: Timed
    events: Timed
    uploads: Timed
    gauges: Timed
    past: Timed
    states: Sequence[tuple[int, str]]
    restarts: Sequence[int]
    vertex_states: Sequence[tuple[int, tuple[samples.VertexState, ...]]]


def timed(kind: type[SampleT], rows: Rows, at: str) -> Timed:
    """Samples by the instant in column ``at``, if known."""
    return in_order([(row[at], sample(kind, row)) for row in rows if row[at] is not None])


def in_order(dated: list[tuple[int, Any]]) -> Timed:
    dated.sort(key=itemgetter(0))
    ordered = [
        pair for _, tied in groupby(dated, key=itemgetter(0)) for pair in _by_content(list(tied))
    ]
    return [at_ms for at_ms, _ in ordered], [row for _, row in ordered]


def _by_content(tied: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    if len(tied) == 1:
        return tied
    names = _names(cast(Hashable, type(tied[0][1])))
    first = attrgetter(names[0])
    if len({first(row) for _, row in tied}) == len(tied):
        return sorted(tied, key=lambda pair: rank(first(pair[1])))
    return sorted(tied, key=lambda pair: rank([getattr(pair[1], name) for name in names]))


def sample(kind: type[SampleT], row: Row) -> SampleT:
    """Each field has the value of the column of its name, with or without the suffix ``_ms``."""
    return kind(*_values(cast(Hashable, kind), tuple(row))(row))


def columns_read(kind: Any, known: Collection[str]) -> list[str | None]:
    columns = (
        (_COLUMN_OF.get((kind, name), name), name.removesuffix("_ms")) for name in _names(kind)
    )
    return [next((name for name in names if name in known), None) for names in columns]


@lru_cache(maxsize=256)
def _values(kind: Any, known: tuple[str, ...]) -> Callable[[Row], Sequence[Any]]:
    columns = columns_read(kind, known)
    documents = [
        (index, _DOCUMENTS[name]) for index, name in enumerate(_names(kind)) if name in _DOCUMENTS
    ]
    if not documents and None not in columns:
        return itemgetter(*columns)

    def read(row: Row) -> Sequence[Any]:
        values = [None if name is None else row[name] for name in columns]
        for index, empty in documents:
            values[index] = empty if values[index] is None else _document(values[index])
        return values

    return read


def log_event(event: Row) -> samples.LogEvent:
    """Dated not later than its line was read: the declared time zone may be wrong."""
    change = " -> ".join(
        state for state in (event["from_state"], event["to_state"]) if state is not None
    )
    columns = ("kind", "checkpoint_id", "vertex_id", "subtask", "attempt", "host", "container")
    # Events of an earlier version of Weir lack new fields.
    event_fields = {name: event.get(name) for name in LOG_EVENT_FIELDS}
    event_fields["trigger_time"] = iso(event_fields["trigger_time"])
    return samples.LogEvent(
        at_ms=min(event["ts"], event["observed_at"]),
        **{name: event[name] for name in columns},
        vertex_name=event["task"],
        reason=event["reason"] if event["reason"] is not None else change or None,
        message=event["message"] and event["message"][:MESSAGE_CHARS],
        detail=condensed(event["detail"], DETAIL_CHARS),
        fields={name: value for name, value in event_fields.items() if value is not None},
    )


def read_by_rules(events: Rows) -> Timed:
    rule_kinds, samples_of_events = events_read(), map(log_event, events)
    return in_order(
        [(event.at_ms, event) for event in samples_of_events if event.rule_kind in rule_kinds]
    )


def vertex_window(row: Row) -> samples.VertexWindow:
    values = list(_values(cast(Hashable, samples.VertexWindow), tuple(row))(row))
    for index in _PER_SUBTASK:
        reported = values[index]
        if reported is not None:
            is_unknown = reported.count(None) == len(reported)
            values[index] = () if is_unknown else tuple(reported)
    return samples.VertexWindow(*values)


def past_before(known: Timed, start_ms: int, since_ms: int) -> tuple[samples.VertexPast, ...]:
    """The newest windows of each vertex, from ``since_ms`` to before ``start_ms``."""
    instants, windows = known
    counts: dict[str, int] = {}
    kept: list[samples.VertexPast] = []
    for window in reversed(
        windows[bisect_left(instants, since_ms) : bisect_left(instants, start_ms)]
    ):
        count = counts.get(window.vertex_id, 0)
        if count < PAST_WINDOWS:
            counts[window.vertex_id] = count + 1
            kept.append(window)
    return tuple(reversed(kept))


def plan_of(
    graph: Mapping[str, Any] | None,
) -> tuple[tuple[samples.Vertex, ...], tuple[samples.Edge, ...]]:
    plan = graph or {}
    vertices = (
        samples.Vertex(
            vertex["vertex_id"],
            vertex.get("name") or vertex["vertex_id"],
            vertex.get("parallelism"),
        )
        for vertex in plan.get("vertices") or ()
        if vertex.get("vertex_id")
    )
    edges = (
        samples.Edge(str(edge.get("source")), str(edge.get("target")), edge.get("ship_strategy"))
        for edge in plan.get("edges") or ()
    )
    return tuple(vertices), tuple(edges)


def _document(value: Any) -> Any:
    document = json.loads(value) if isinstance(value, str) else value
    return tuple(document) if isinstance(document, list) else document


STATES_KEPT = 200


def entered_states(jobs: Rows, events: Rows) -> list[tuple[int, str]]:
    reported = {
        (entry["since"], entry["state"]) for job in jobs for entry in job["state_since"] or ()
    }
    logged = {
        (event["ts"], event["to_state"])
        for event in events
        if event["kind"] in ("job_state", "job_terminal") and event["to_state"]
    }
    return sorted(
        (at_ms, state)
        for at_ms, state in reported | logged
        if at_ms is not None and state is not None
    )[-STATES_KEPT:]
