"""Samples of the lake → rows of the heat map, bounded in samples and in subtasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from webapp.charts.pools import PoolRow
from webapp.lib.instants import clock_text
from webapp.work.lake import read_newest

LONGEST = timedelta(hours=6)
MOST_SAMPLES = 20_000
MOST_VALUES = 6_000_000
MOST_SUBTASKS = 16
MOST_ATTEMPTS = 4
"""Whose samples are read: each is a read of the lake."""
_COLUMNS = ("vertex_id", "ts", "in_pool_usage", "out_pool_usage")


@dataclass(frozen=True)
class Heat:
    """``rows`` in plan order, both pools of a subtask together; ``note`` says what was left out."""

    rows: list[PoolRow]
    start: datetime
    end: datetime
    note: str


def read_heat(
    cluster: str,
    job_ids: Sequence[str],
    names: Mapping[str, str],
    parallelism: int | None,
    start: datetime,
    end: datetime,
) -> Heat:
    """The heat map of a job's attempts (newest first), from the lake, for the newest part of the
    range. Raises the storage's errors.
    """
    notes = []
    if end - start > LONGEST:
        start = end - LONGEST
        notes.append("The last 6 hours of the range.")
    limit = max(200, min(MOST_SAMPLES, MOST_VALUES // max(parallelism or 1, 1)))
    asked_from = start
    table, start = _read(cluster, job_ids, start, end, limit)
    if start > asked_from:
        notes = [
            (
                f"From {clock_text(start)[:5]} on: before it there are more samples than one chart "
                "holds."
            )
        ]
    rows, total = hottest_rows(table, names)
    shown = len({(row.vertex_name, row.subtask) for row in rows})
    if shown < total:
        notes.append(f"The {shown} hottest of {total:,} subtasks, by mean usage.")
    return Heat(rows, start, end, " ".join(notes))


def _read(
    cluster: str, job_ids: Sequence[str], start: datetime, end: datetime, limit: int
) -> tuple[pa.Table, datetime]:
    """Samples of the newest attempts, up to the limit, and since when they are complete."""
    tables: list[pa.Table] = []
    for job_id in job_ids[:MOST_ATTEMPTS]:
        left = max(limit - sum(table.num_rows for table in tables), 1)
        # Attempts do not overlap, so samples after the start of the complete part of older attempts
        # are complete, too.
        table, start = read_newest(
            "vertex_metrics", {"cluster": cluster, "job_id": job_id}, start, end, _COLUMNS, left
        )
        tables.append(table)
    return pa.concat_tables(tables[::-1]), start


def hottest_rows(
    table: pa.Table, names: Mapping[str, str], most: int = MOST_SUBTASKS
) -> tuple[list[PoolRow], int]:
    """Rows of the hottest ``most`` subtasks, and the number of all. Replayed samples are harmless
    duplicates.
    """
    vertex_ids = np.asarray(table["vertex_id"].to_pylist(), dtype=object)
    times = table["ts"].to_pylist()
    pools: dict[tuple[str, str], tuple[Any, list[datetime]]] = {}
    for vertex_id in dict.fromkeys(vertex_ids):
        positions = np.flatnonzero(vertex_ids == vertex_id)
        of_vertex = table.take(pa.array(positions))
        at = [times[position] for position in positions]
        for pool, column in (("in", "in_pool_usage"), ("out", "out_pool_usage")):
            pools[vertex_id, pool] = _matrix(of_vertex[column]), at
    heat: dict[tuple[str, int], float] = {}
    for (vertex_id, _pool), (matrix, _at) in pools.items():
        for subtask, mean in enumerate(_means(matrix)):
            if not np.isnan(mean):
                key = (vertex_id, subtask)
                heat[key] = max(heat.get(key, 0.0), float(mean))
    chosen = sorted(heat, key=lambda key: (-heat[key], key))[:most]
    order = {vertex_id: position for position, vertex_id in enumerate(names)}
    chosen.sort(key=lambda key: (order.get(key[0], len(order)), key))
    rows = [
        PoolRow(names.get(vertex_id) or vertex_id[:8], subtask, pool, usages)
        for vertex_id, subtask in chosen
        for pool in ("in", "out")
        if (usages := _usages(*pools[vertex_id, pool], subtask))
    ]
    return rows, len(heat)


def _matrix(column: pa.ChunkedArray) -> Any:
    """Samples × subtasks; NaN where a subtask did not report.

    Samples may differ in length (rescaled meanwhile).
    """
    lists = column.combine_chunks()
    lengths = np.asarray(lists.value_lengths().fill_null(0))
    matrix = np.full((len(lists), int(lengths.max(initial=0))), np.nan)
    values = np.asarray(lists.flatten().cast(pa.float64()).fill_null(float("nan")))
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = values
    return matrix


def _means(matrix: Any) -> Any:
    known = ~np.isnan(matrix)
    counts = known.sum(axis=0)
    sums = np.where(known, matrix, 0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _usages(matrix: Any, at: list[datetime], subtask: int) -> list[tuple[datetime, float]]:
    if subtask >= matrix.shape[1]:
        return []
    column = matrix[:, subtask]
    return [
        (at[position].astimezone(UTC), float(column[position]))
        for position in np.flatnonzero(~np.isnan(column))
    ]
