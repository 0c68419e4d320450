"""Folds rows of jobs: Arrow → ``spark_jobs.fold`` → Arrow."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import timedelta
from itertools import accumulate, chain
from typing import Any, NamedTuple

import pyarrow as pa

from ingest.garbage_collection import without_garbage_collection
from spark_jobs.arrow_schemas import Batches, schema
from spark_jobs.fold.checkpoint_facts import writing_of
from spark_jobs.fold.checkpoints import Lookup
from spark_jobs.fold.comparisons import comparisons
from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rows import LINE, Row, RowList, newest_places, served_rows
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


class _ServedPart(NamedTuple):
    """``identity`` of a row; ``order``: columns by which its newest version is found; ``renamed``:
    serving column → column of the part.
    """

    table: ServingTable
    identity: tuple[str, ...]
    order: tuple[str, ...]
    renamed: Mapping[str, str] = {}


_SERVED_PARTS: Mapping[str, _ServedPart] = {
    "events": _ServedPart(
        LOG_EVENT,
        LINE,
        ("observed_at",),
        {"vertex_name": "task", "reason": "served_reason", "as_of": "observed_at"},
    ),
    "windows": _ServedPart(PRESSURE_WINDOW, ("vertex_id", "window_start"), ("as_of",)),
    "exceptions": _ServedPart(
        JOB_EXCEPTION, ("ts", "task_key", "exception_name"), ("is_root", "as_of")
    ),
    "skips": _ServedPart(SKIPPED_INPUT, ("observed_at", "subject", "reason"), ("as_of", "detail")),
}
"""Parts whose rows are served as they are, each once."""
_FOLDED_TABLES = (
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

FOLDED = schema(
    *JOB_KEY,
    **{table.name: pa.list_(struct(table)) for table in _TABLES},
    state=pa.binary(),
    lookup=pa.struct(list(LOOKUP)),
    **{ROWS: pa.struct([(table.name, pa.int64()) for table in _TABLES])},
)
"""If a job has a ``lookup``, it was not folded: it needs these earlier rows."""

_READ: Mapping[str, Sequence[str] | None] = {
    "skips": ("observed_at", "subject", "reason", "detail", "as_of"),
    group_windows.PART: (),
    group_windows.EARLIER_PART: (),
    "windows": group_windows.WINDOW,
}
"""Fields that are converted to plain rows; of parts that are not in this mapping, all fields."""
_LOOKED_UP_BY = {
    "earlier_checkpoints": ("trigger_time", 0),
    "earlier_vertex_checkpoints": ("trigger_time", 0),
    "earlier_lines": ("ts", LINES_AFTER_TRIGGER // timedelta(milliseconds=1)),
}
"""Part → column and tolerance in ms by which rows are selected. Rows are looked up for several jobs
at once, so some are outside the span of a single job.
"""
_BAD_VALUE_ERRORS = (pa.ArrowException, OverflowError, ValueError, TypeError)
_UPDATE_PARTS = tuple(
    field.name
    for field in fields(JobUpdate)
    if field.default == () and field.name not in ("vertex_windows", "pressure")
)


def folded_batches(
    batches: Batches, settings: Settings, has_older_snapshots: bool = False
) -> Iterator[pa.RecordBatch]:
    """``FOLDED`` of each job. ``batches``: ``cluster``, ``job_id`` and a struct for each part,
    sorted by job. If a fold fails, the job's state stays and a skipped input says why.
    """
    with without_garbage_collection():
        pending: list[tuple[Group, Row]] = []
        rows = 0
        for group in job_groups(batches):
            pending.append((group, _fold(group, settings, has_older_snapshots)))
            rows += group.size
            if rows >= ROWS_AT_ONCE:
                yield _arrow(pending)
                pending, rows = [], 0
        if pending:
            yield _arrow(pending)


def job_groups(batches: Batches) -> Iterator[Group]:
    return group_windows.with_windows(groups(batches, _READ))


def metadata_need_batches(batches: Batches, settings: Settings) -> Iterator[pa.RecordBatch]:
    """``METADATA_NEEDS`` of each job; none if it cannot be folded."""
    rows: list[Row] = []
    for group in job_groups(batches):
        if group.key[1] is not None:
            with suppress(Exception):  # folding reports the error
                rows += _metadata_needs(group, settings)
    yield pa.RecordBatch.from_pylist(rows, METADATA_NEEDS)


def _metadata_needs(group: Group, settings: Settings) -> Iterator[Row]:
    state = unpacked(_unchanged(group)["state"])
    facts: RowList = state.facts
    if _has_new_rows(group):
        result = fold_group(group, settings)
        if isinstance(result, Lookup):
            return
        state, facts = result.state, result.known
    yield {
        **dict(zip(JOB, group.key, strict=True)),
        "comparisons": comparisons(facts, state),
        "wanted_keys": wanted_keys(group.key[1], state, facts, writing_of(state.answers)),
    }


def _fold(group: Group, settings: Settings, has_older_snapshots: bool) -> Row:
    unchanged = _unchanged(group)
    if group.key[1] is None or not _has_new_rows(group):
        return unchanged
    try:
        result = fold_group(group, settings, has_older_snapshots)
        if isinstance(result, Lookup):
            return unchanged | {"state": None, "lookup": result._asdict()}
        return unchanged | _result_row(result)
    except Exception as error:
        return _failure_row(group, error)


def _has_new_rows(group: Group) -> bool:
    return any(part not in ("state", "skips", "windows") for part in group.parts) or (
        "windows" in group.parts and bool("state" in group.parts or group.rows("windows"))
    )


def _unchanged(group: Group) -> Row:
    return {
        **dict(zip(JOB, group.key, strict=True)),
        "state": next((row["state"] for row in group.rows("state")), None),
    }


def _result_row(result: JobResult) -> Row:
    judgement = result.judgement
    tables: list[tuple[ServingTable, RowList]] = [
        (CHECKPOINT_FACT, result.facts),
        (JOB_ANNOTATION, result.new_annotations),
        (JOB_START, result.new_starts),
        (JOB_HOST, result.new_hosts),
        (HOST_EVENT, result.host_events),
        # A job submitted while its cluster was read may be known only by its slots so far.
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


def _failure_row(group: Group, error: Exception) -> Row:
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
    skip = {
        "observed_at": observed_at,
        "subject": f"job {job_id}",
        "reason": LEFT_OUT,
        "source": "cycle",
        "detail": f"{type(error).__name__}: {error}"[:ERROR_CHARS],
        "as_of": observed_at,
    }
    return _unchanged(group) | {"failed": [skip]}


def fold_group(
    group: Group, settings: Settings, has_older_snapshots: bool = False
) -> JobResult | Lookup:
    update = update_of(group, has_older_snapshots)
    return fold(update, unpacked(_unchanged(group)["state"]), settings)


def update_of(group: Group, has_older_snapshots: bool = False) -> JobUpdate:
    windows, looked_up = group.rows("windows"), group.rows("looked_up")
    parts: Row = {part: group.rows(part) for part in _UPDATE_PARTS}
    for part, (column, later_ms) in _LOOKED_UP_BY.items():
        parts[part] = [
            row
            for row in parts[part]
            if row[column] is not None
            and looked_up[0]["from_ms"] <= row[column] <= looked_up[0]["to_ms"] + later_ms
        ]
    return JobUpdate(
        group.key[0],
        group.key[1] or "",
        **parts,
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


def _arrow(folded: Sequence[tuple[Group, Row]]) -> pa.RecordBatch:
    try:
        columns = _result_arrays([result for _, result in folded])
    except _BAD_VALUE_ERRORS:
        # A value does not fit its column: each job is tried alone to find it.
        folded = [(group, _checked_result(group, result)) for group, result in folded]
        columns = _result_arrays([result for _, result in folded])
    for part, served_part in _SERVED_PARTS.items():
        columns[served_part.table.name] = _served_lists(folded, part)
    counts = [columns[table.name].value_lengths().cast(pa.int64()) for table in _TABLES]
    columns[ROWS] = pa.StructArray.from_arrays(counts, names=[table.name for table in _TABLES])
    return pa.RecordBatch.from_arrays([columns[name] for name in FOLDED.names], schema=FOLDED)


def _result_arrays(results: RowList) -> dict[str, pa.Array]:
    values = {
        name: pa.array([result.get(name) for result in results], FOLDED.field(name).type)
        for name in (*JOB, "state", "lookup")
    }
    lists = {
        table.name: pa.array(
            [result.get(table.name, ()) for result in results], FOLDED.field(table.name).type
        )
        for table in _FOLDED_TABLES
    }
    return values | lists


def _checked_result(group: Group, result: Row) -> Row:
    try:
        _result_arrays([result])
    except _BAD_VALUE_ERRORS as error:
        return _failure_row(group, error)
    return result


def _served_lists(folded: Sequence[tuple[Group, Mapping[str, Any]]], part: str) -> pa.ListArray:
    """By job, the newest version of each row of a part, and skipped inputs of the fold."""
    served_part = _SERVED_PARTS[part]
    table = served_part.table
    arrays: list[pa.StructArray] = []
    vertex_names: list[str | None] = []
    indexes: list[list[int]] = []
    total = 0
    for group, result in folded:
        if part not in group.parts or result.get("lookup"):
            indexes.append([])
            continue
        rows = group.rows(part)
        indexes.append(
            [
                total + index
                for index in newest_places(rows, served_part.identity, served_part.order)
            ]
        )
        arrays += group.arrays(part)
        total += len(rows)
        if table is PRESSURE_WINDOW:
            names = result.get("vertex_names", {})
            vertex_names += [names.get(row["vertex_id"]) for row in rows]
    skips = [result.get("failed", ()) if table is SKIPPED_INPUT else () for _, result in folded]
    for job_indexes, job_skips in zip(indexes, skips, strict=True):
        job_indexes += range(total, total + len(job_skips))
        total += len(job_skips)
    pieces = [_serve(pa.concat_arrays(arrays), served_part, vertex_names)] if arrays else []
    served = pa.concat_arrays([*pieces, pa.array(chain.from_iterable(skips), struct(table))])
    all_indexes = list(chain.from_iterable(indexes))
    if all_indexes != list(range(total)):
        served = served.take(pa.array(all_indexes, pa.int64()))
    offsets = accumulate(map(len, indexes), initial=0)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), served)


def _serve(
    rows: pa.StructArray, served_part: _ServedPart, vertex_names: Sequence[str | None]
) -> pa.StructArray:
    table, renamed = served_part.table, served_part.renamed
    arrays = {field.name: rows.field(index) for index, field in enumerate(rows.type)}
    if table is PRESSURE_WINDOW:
        arrays["vertex_name"] = pa.array(vertex_names, pa.string())
    fields = list(struct(table))
    columns = [_cast(arrays[renamed.get(field.name, field.name)], field.type) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("ms", values.type.tz), safe=False).cast(kind)
    return values.cast(kind)
