"""Windows of vertices to judge: from new or looked-up samples, or remembered."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from spark_jobs.diagnosis.samples import VertexWindow
from spark_jobs.fold.history import vertex_window
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.record_counters import EarlierReadings, newest_readings, rates
from spark_jobs.fold.retention import WINDOWS_KEPT
from spark_jobs.fold.rows import Row, Rows, grouped
from spark_jobs.fold.state import JobState


def windows_at_hand(update: JobUpdate, before: JobState) -> list[Row]:
    """A new window has all samples of its minute, so it replaces a remembered window."""
    earlier = EarlierReadings([*before.counters, *newest_readings(update.vertex_windows)])
    new_windows = [
        {**{name: row[name] for name in row if name not in _UNREAD}, **rates(row, earlier)}
        for row in update.vertex_windows
    ]
    renewed = {_key(row) for row in new_windows}
    return [*new_windows, *(row for row in before.vertex_windows if _key(row) not in renewed)]


def by_minute(rows: Rows, starts_ms: Iterable[int]) -> Mapping[int, Sequence[VertexWindow]]:
    windows: dict[int, list[VertexWindow]] = defaultdict(list)
    wanted = set(starts_ms)
    for row in rows:
        if row["window_start"] in wanted:
            windows[row["window_start"]].append(vertex_window(row))
    return windows


def lacking_minutes(
    starts_ms: Iterable[int], update: JobUpdate, before: JobState
) -> tuple[int, ...]:
    """Minutes to look up in the lake; none after a lookup."""
    if update.looked_up_span is not None or not before.pressure:
        return ()
    at_hand = {_key(row) for row in (*update.vertex_windows, *before.vertex_windows)}
    judged = [(run["first"] * 1000, run["last"] * 1000) for run in before.judged_runs]
    starts_by_vertex = {
        vertex_id: {row["window_start"] for row in rows}
        for vertex_id, rows in grouped(before.pressure, "vertex_id").items()
    }

    def lacks(vertex_id: str, start_ms: int) -> bool:
        if (vertex_id, start_ms) in at_hand:
            return False
        starts = starts_by_vertex[vertex_id]
        is_forgotten = len(starts) >= WINDOWS_KEPT and start_ms < min(starts)
        return start_ms in starts or (
            is_forgotten and any(first <= start_ms <= last for first, last in judged)
        )

    return tuple(
        start_ms
        for start_ms in starts_ms
        if any(lacks(vertex_id, start_ms) for vertex_id in starts_by_vertex)
    )


def answered_instants(update: JobUpdate) -> Iterator[int]:
    for row in update.checkpoints:
        if (trigger_time := row["trigger_time"]) is not None:
            yield trigger_time
            yield trigger_time + (row["end_to_end_ms"] or 0)


_UNREAD = ("counters", "newest_ts")


def _key(row: Row) -> tuple[str, int]:
    return row["vertex_id"], row["window_start"]
