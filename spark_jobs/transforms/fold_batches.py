"""The work of a Python worker: rows of jobs from Arrow, through :mod:`spark_jobs.fold`, back into
Arrow. Executors import this module: nothing but Arrow, the fold and the diagnosis core.
"""

import gc
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import timedelta
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from spark_jobs.fold.checkpoint_facts import writing_of
from spark_jobs.fold.checkpoints import Lookup
from spark_jobs.fold.comparisons import comparisons
from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rows import LINE, Row, newest_places, served_rows
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import unpacked
from spark_jobs.fold.wanted_snapshots import wanted_keys
from spark_jobs.nested_tables import JOB, NESTED, RETRACTED, ROWS, struct
from spark_jobs.serving import (
    CHECKPOINT_FACT,
    FINDING_OCCURRENCE,
    HOST_EVENT,
    JOB_ANNOTATION,
    JOB_CURRENT,
    JOB_EXCEPTION,
    JOB_HOST,
    JOB_JUDGEMENT,
    JOB_START,
    LOG_EVENT,
    PRESSURE_WINDOW,
    SIZE_TREND,
    SKIPPED_INPUT,
    ServingTable,
)
from spark_jobs.spans import LINES_AFTER_TRIGGER
from spark_jobs.step_schemas import JOB_KEY, LOOKUP, METADATA_NEEDS
from spark_jobs.transforms import group_windows
from spark_jobs.transforms.grouped_batches import Group, groups

logger = logging.getLogger(__name__)

ERROR_CHARS = 500
ROWS_AT_ONCE = 20_000
LEFT_OUT = "its facts and verdicts could not be computed"

_PASSED_ON: Mapping[
    str, tuple[ServingTable, tuple[str, ...], tuple[str, ...], Mapping[str, str]]
] = {
    "events": (
        LOG_EVENT,
        LINE,
        ("observed_at",),
        {"vertex_name": "task", "reason": "served_reason", "as_of": "observed_at"},
    ),
    "windows": (PRESSURE_WINDOW, ("vertex_id", "window_start"), ("as_of",), {}),
    "exceptions": (JOB_EXCEPTION, ("ts", "task_key", "exception_name"), ("is_root", "as_of"), {}),
    "skips": (SKIPPED_INPUT, ("observed_at", "subject", "reason"), ("as_of", "detail"), {}),
}
"""Part → (its serving table, identity of a row, order of two versions, renamed columns)."""
_MADE = (
    CHECKPOINT_FACT,
    JOB_ANNOTATION,
    JOB_START,
    JOB_CURRENT,
    SIZE_TREND,
    FINDING_OCCURRENCE,
    JOB_JUDGEMENT,
    JOB_HOST,
    HOST_EVENT,
    RETRACTED,
)
_TABLES = (*NESTED, RETRACTED)

FOLDED = pa.schema(
    [
        *JOB_KEY,
        *((table.name, pa.list_(struct(table))) for table in _TABLES),
        ("state", pa.binary()),
        ("lookup", pa.struct(list(LOOKUP))),
        (ROWS, pa.struct([(table.name, pa.int64()) for table in _TABLES])),
    ]
)
"""``lookup``: the job was not folded, since earlier rows are needed."""

_READ: Mapping[str, Sequence[str] | None] = {
    "skips": ("observed_at", "subject", "reason", "detail", "as_of"),
    group_windows.PART: (),
    group_windows.EARLIER_PART: (),
    "windows": group_windows.WINDOW,
}
"""Fields that are taken out of Arrow; of parts that are not named, all."""
_FOUND_BY = {
    "earlier_checkpoints": ("trigger_time", 0),
    "earlier_vertex_checkpoints": ("trigger_time", 0),
    "earlier_lines": ("ts", LINES_AFTER_TRIGGER // timedelta(milliseconds=1)),
}
"""Rows are looked up for several jobs at once: these columns tell which are in the span of one job.
"""
_UNFIT = (pa.ArrowException, OverflowError, ValueError, TypeError)
_AS_NEWS = tuple(
    field.name
    for field in fields(JobUpdate)
    if field.default == () and field.name not in ("vertex_windows", "pressure")
)


def folded_batches(
    batches: Iterable[pa.RecordBatch], settings: Settings, has_older_snapshots: bool = False
) -> Iterator[pa.RecordBatch]:
    """A row of ``FOLDED`` for each job. ``batches``: rows of ``cluster``, ``job_id`` and a struct
    for each part, sorted by job. A job that cannot be folded affects no other: its state stays, and
    a skipped input says why.
    """
    # Rows form no cycles: garbage collection of millions of them took more time than the rules.
    gc.disable()
    try:
        held: list[tuple[Group, dict[str, Any]]] = []
        rows = 0
        for group in jobs_of(batches):
            held.append((group, _fold(group, settings, has_older_snapshots)))
            rows += group.size
            if rows >= ROWS_AT_ONCE:
                yield _arrow(held)
                held, rows = [], 0
        if held:
            yield _arrow(held)
    finally:
        gc.enable()


def jobs_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Group]:
    return group_windows.with_windows(groups(batches, _READ))


def asked_batches(
    batches: Iterable[pa.RecordBatch], settings: Settings
) -> Iterator[pa.RecordBatch]:
    """None for a job that cannot be folded."""
    rows: list[Row] = []
    for group in jobs_of(batches):
        if group.key[1] is not None:
            with suppress(Exception):  # folding reports the error
                rows += _asked(group, settings)
    yield pa.RecordBatch.from_pylist(rows, METADATA_NEEDS)


def _asked(group: Group, settings: Settings) -> Iterator[Row]:
    state = unpacked(_unchanged(group)["state"])
    facts: Sequence[Row] = state.facts
    if _has_news(group):
        result = fold_group(group, settings)
        if isinstance(result, Lookup):
            return
        state, facts = result.state, result.known
    yield {
        **dict(zip(JOB, group.key, strict=True)),
        "comparisons": comparisons(facts, state),
        "wanted_keys": wanted_keys(group.key[1], state, facts, writing_of(state.answers)),
    }


def _fold(group: Group, settings: Settings, has_older_snapshots: bool) -> dict[str, Any]:
    same = _unchanged(group)
    if group.key[1] is None or not _has_news(group):
        return same
    try:
        result = fold_group(group, settings, has_older_snapshots)
        return same | (
            {"state": None, "lookup": result._asdict()}
            if isinstance(result, Lookup)
            else _result_row(result)
        )
    except Exception as error:
        return _failure_row(group, error)


def _has_news(group: Group) -> bool:
    return any(part not in ("state", "skips", "windows") for part in group.parts) or (
        "windows" in group.parts and bool("state" in group.parts or group.rows("windows"))
    )


def _unchanged(group: Group) -> dict[str, Any]:
    return {
        **dict(zip(JOB, group.key, strict=True)),
        "state": next((row["state"] for row in group.rows("state")), None),
    }


def _result_row(result: JobResult) -> dict[str, Any]:
    judgement = result.judgement
    tables: list[tuple[ServingTable, Sequence[Row]]] = [
        (CHECKPOINT_FACT, result.facts),
        (JOB_ANNOTATION, result.new_annotations),
        (JOB_START, result.new_starts),
        (JOB_HOST, result.new_hosts),
        (HOST_EVENT, result.host_events),
        # A job submitted while its cluster was read may first appear in the slots of TaskManagers.
        (JOB_CURRENT, [] if result.current["as_of"] is None else [result.current]),
        (SIZE_TREND, [result.trend] if result.trend else []),
    ]
    if judgement:
        tables += [
            (FINDING_OCCURRENCE, judgement["occurrences"]),
            (JOB_JUDGEMENT, [judgement | {"as_of": judgement["judged_to"]}]),
        ]
    return {
        **{table.name: served_rows(rows, table) for table, rows in tables},
        RETRACTED.name: [
            {"checkpoint_id": key[0], "trigger_time": key[1]} for key in result.retracted
        ],
        "state": result.state.packed(),
        "vertex_names": result.vertex_names,
    }


def _failure_row(group: Group, error: Exception) -> dict[str, Any]:
    cluster, job_id = group.key
    logger.error("Job %s of %s cannot be folded", job_id, cluster, exc_info=error)
    observed_at = max(
        (
            row["observed_at"]
            for part in ("answers", "events", "checkpoints")
            for row in group.rows(part)
        ),
        default=0,
    )
    skipped = {
        "observed_at": observed_at,
        "subject": (f"job {job_id}"),
        "reason": LEFT_OUT,
        "source": "cycle",
        "detail": f"{type(error).__name__}: {error}"[:ERROR_CHARS],
        "as_of": observed_at,
    }
    return _unchanged(group) | {"failed": [skipped]}


def fold_group(
    group: Group, settings: Settings, has_older_snapshots: bool = False
) -> JobResult | Lookup:
    return fold(news_of(group, has_older_snapshots), unpacked(_unchanged(group)["state"]), settings)


def news_of(group: Group, has_older_snapshots: bool = False) -> JobUpdate:
    windows, looked_up = group.rows("windows"), group.rows("looked_up")
    news: dict[str, Any] = {part: group.rows(part) for part in _AS_NEWS}
    for part, (column, later_ms) in _FOUND_BY.items():
        news[part] = [
            row
            for row in news[part]
            if row[column] is not None
            and looked_up[0]["from_ms"] <= row[column] <= looked_up[0]["to_ms"] + later_ms
        ]
    return JobUpdate(
        group.key[0],
        group.key[1] or "",
        **news,
        has_older_snapshots=has_older_snapshots,
        vertex_windows=[
            row["readings"]
            | {
                name: row[name]
                for name in ("vertex_id", "window_start", "newest_ts", "as_of", "counters")
            }
            for row in windows
        ],
        pressure=[
            {name: row[name] for name in row if name not in ("readings", "newest_ts", "counters")}
            for row in windows
        ],
        looked_up_span=(looked_up[0]["from_ms"], looked_up[0]["to_ms"]) if looked_up else None,
    )


def _arrow(held: Sequence[tuple[Group, dict[str, Any]]]) -> pa.RecordBatch:
    results = [result for _, result in held]
    try:
        columns = _result_arrays(results)
    except _UNFIT:
        # A value fits no column: found by trying one job after the other.
        results = [_fitting(group, result) for group, result in held]
        columns = _result_arrays(results)
    groups_and_results = [(group, result) for (group, _), result in zip(held, results, strict=True)]
    for part, (table, *_) in _PASSED_ON.items():
        columns[table.name] = _passed_on(groups_and_results, part)
    counts = [columns[table.name].value_lengths().cast(pa.int64()) for table in _TABLES]
    columns[ROWS] = pa.StructArray.from_arrays(counts, names=[table.name for table in _TABLES])
    return pa.RecordBatch.from_arrays([columns[name] for name in FOLDED.names], schema=FOLDED)


def _result_arrays(results: Sequence[dict[str, Any]]) -> dict[str, pa.Array]:
    one_each = {
        name: pa.array([result.get(name) for result in results], FOLDED.field(name).type)
        for name in (*JOB, "state", "lookup")
    }
    lists = {
        table.name: pa.array(
            [result.get(table.name, ()) for result in results], FOLDED.field(table.name).type
        )
        for table in _MADE
    }
    return one_each | lists


def _fitting(group: Group, result: dict[str, Any]) -> dict[str, Any]:
    try:
        _result_arrays([result])
    except _UNFIT as error:
        return _failure_row(group, error)
    return result


def _passed_on(held: Sequence[tuple[Group, Mapping[str, Any]]], part: str) -> pa.ListArray:
    table, identity, order, _ = _PASSED_ON[part]
    arrays: list[pa.StructArray] = []
    names: list[str | None] = []
    kept: list[list[int]] = []
    rows = 0
    for group, result in held:
        if part not in group.parts or result.get("lookup"):
            kept.append([])
            continue
        of_job = group.rows(part)
        kept.append([rows + place for place in newest_places(of_job, identity, order)])
        arrays += group.arrays(part)
        rows += len(of_job)
        if table is PRESSURE_WINDOW:
            known = result.get("vertex_names", {})
            names += [known.get(row["vertex_id"]) for row in of_job]
    own = [result.get("failed", ()) if table is SKIPPED_INPUT else () for _, result in held]
    for places, failed in zip(kept, own, strict=True):
        places += range(rows, rows + len(failed))
        rows += len(failed)
    pieces = [_serve(pa.concat_arrays(arrays), part, names)] if arrays else []
    served = pa.concat_arrays([*pieces, pa.array(chain.from_iterable(own), struct(table))])
    places = list(chain.from_iterable(kept))
    return _lists(
        served if places == list(range(rows)) else served.take(pa.array(places, pa.int64())),
        map(len, kept),
    )


def _serve(rows: pa.StructArray, part: str, vertex_names: Sequence[str | None]) -> pa.StructArray:
    table, _, _, renamed = _PASSED_ON[part]
    given = {field.name: rows.field(place) for place, field in enumerate(rows.type)}
    if table is PRESSURE_WINDOW:
        given["vertex_name"] = pa.array(vertex_names, pa.string())
    wanted = struct(table)
    columns = [_whole(given[renamed.get(field.name, field.name)], field.type) for field in wanted]
    return pa.StructArray.from_arrays(columns, fields=list(wanted))


def _whole(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("ms", values.type.tz), safe=False).cast(kind)
    return values.cast(kind)


def _lists(rows: pa.StructArray, lengths: Iterable[int]) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(accumulate(lengths, initial=0), pa.int32()), rows)
