"""Metric samples of jobs → pressure windows and placements of tasks, in whole columns of many jobs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.diagnosis.samples import VertexPast
from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.transforms.grouped_batches import Group, Piece, select_fields
from spark_jobs.transforms.plain_rows import plain
from spark_jobs.transforms.pressure_arrays import READ as OF_WINDOW
from spark_jobs.transforms.pressure_arrays import windows
from spark_jobs.transforms.sample_cells import begins

PART = "samples"
EARLIER_PART = "earlier_samples"
"""Looked-up samples of the minutes that this job needs, and of minutes that other jobs need."""
IS_NEW = "is_new"
"""Column: the sample is new, and not only in the window of a new sample."""
SAMPLE = OF_WINDOW
WINDOW = (
    *("window_start", "newest_ts", "as_of", "readings", "counters"),
    *(field.name for field in fields(VertexPast) if field.name != "window_start_ms"),
)
"""Fields that the fold reads; the fields of the serving table are passed on as they are."""
PLACEMENT = ("vertex_id", "ts", "host", "attempt")

SAMPLES_AT_ONCE = 20_000


def with_windows(groups: Iterable[Group]) -> Iterator[Group]:
    """Groups with ``windows`` (if a sample is new) and ``placements``, without samples."""
    pending: list[Group] = []
    rows = 0
    for group in groups:
        pending.append(group)
        rows += group.size
        if rows >= SAMPLES_AT_ONCE:
            yield from _replace_samples(pending)
            pending, rows = [], 0
    yield from _replace_samples(pending)


def _replace_samples(pending: Sequence[Group]) -> Sequence[Group]:
    with_samples = [
        group for group in pending if PART in group.parts or EARLIER_PART in group.parts
    ]
    pairs = [(group, rows) for group in with_samples if len(rows := _samples(group))]
    for group in with_samples:
        group.parts.pop(PART, None)
        group.parts.pop(EARLIER_PART, None)
    if pairs:
        owner = np.repeat(np.arange(len(pairs)), [len(rows) for _, rows in pairs])
        samples = pa.RecordBatch.from_struct_array(pa.concat_arrays([rows for _, rows in pairs]))
        clusters = pa.array([group.key[0] for group, _ in pairs]).take(pa.array(owner))
        samples = samples.append_column("cluster", clusters).append_column("owner", pa.array(owner))
        order = pc.sort_indices(
            samples,
            [
                (name, "ascending")
                for name in ("owner", "vertex_id", "ts", "observed_at", "commit_seq")
            ],
        )
        ordered = samples.take(order)
        groups = [group for group, _ in pairs]
        _add_part(groups, "windows", *_windows(ordered), WINDOW)
        _add_part(groups, "placements", *_placements(ordered), PLACEMENT)
    return pending


def _samples(group: Group) -> pa.StructArray:
    minutes = pa.array(
        [minute for row in group.rows("looked_up") for minute in row["minutes"] or ()], pa.int64()
    )
    pieces = (
        group.arrays(PART)
        if not len(minutes)
        else [rows.filter(pc.invert(_in_minutes(rows, minutes))) for rows in group.arrays(PART)]
    )
    return pa.concat_arrays(
        [*pieces, *(rows.filter(_in_minutes(rows, minutes)) for rows in group.arrays(EARLIER_PART))]
    )


def _in_minutes(samples: pa.StructArray, minutes: pa.Array) -> pa.Array:
    starts = pc.floor_temporal(samples.field("ts"), WINDOW_MS // 1000, "second")
    return pc.is_in(starts.cast(pa.timestamp("ms", "UTC")).cast(pa.int64()), minutes)


def _windows(samples: pa.RecordBatch) -> tuple[pa.StructArray, pa.Array]:
    first = np.flatnonzero(begins(samples))
    has_new = np.logical_or.reduceat(np.asarray(samples[IS_NEW]), first)
    new_windows = (
        windows(samples.select(list(OF_WINDOW))).drop_columns(["cluster"]).filter(pa.array(has_new))
    )
    return new_windows.to_struct_array(), samples["owner"].take(pa.array(first[has_new]))


def _placements(samples: pa.RecordBatch) -> tuple[pa.StructArray, pa.Array]:
    new_samples = samples.filter(samples[IS_NEW])
    return new_samples.select(list(PLACEMENT)).to_struct_array(), new_samples["owner"]


def _add_part(
    groups: Sequence[Group], part: str, rows: pa.StructArray, owners: pa.Array, read: Sequence[str]
) -> None:
    plain_rows = plain(select_fields(rows, read))
    ends = np.searchsorted(np.asarray(owners), np.arange(len(groups) + 1)).tolist()
    for group, begin, end in zip(groups, ends, ends[1:], strict=False):
        if begin < end:
            piece: Piece = (plain_rows[begin:end], rows.slice(begin, end - begin))
            group.parts[part] = [piece]
