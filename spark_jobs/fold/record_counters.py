"""Records per second in a window, from two readings of Flink's counters. Flink's meters are means
of the last minute, so they show a past burst.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from spark_jobs.fold.rows import Row, Rows, grouped, newest_by, ordered

WANTED_SPAN_MS, LEAST_SPAN_MS = 50_000, 30_000
"""The JobManager collects counters every ten seconds, from one TaskManager after the other. Over
half a minute, an even load may look as uneven as two to one.
"""
MOST_SPAN_MS = 180_000
"""Three windows. Over a longer span, counters are no better than meters."""

UNKNOWN: Mapping[str, Any] = {"counted_ms": None, "counted_in_per_s": (), "counted_out_per_s": ()}


def newest_readings(vertex_windows: Rows) -> list[Row]:
    return [
        {name: row[name] for name in ("vertex_id", "window_start", "as_of")}
        | row["counters"]["newest"]
        for row in vertex_windows
        if row["counters"]["newest"] is not None
    ]


class EarlierReadings:
    def __init__(self, reported: Rows) -> None:
        once = newest_by(reported, ("vertex_id", "window_start"), ("as_of",))
        self._answers = {
            vertex_id: ordered(rows, "at", "window_start")
            for vertex_id, rows in grouped(once, "vertex_id").items()
        }

    def before(self, vertex_id: str, until_ms: int, since_ms: int) -> Row | None:
        readings = self._answers.get(vertex_id, ())
        place = bisect_right(readings, until_ms, key=itemgetter("at"))
        newest = readings[place - 1] if place else None
        return newest if newest and newest["at"] >= since_ms else None


def rates(row: Row, earlier: EarlierReadings) -> Mapping[str, Any]:
    newest = row["counters"]["newest"]
    if newest is None:
        return UNKNOWN
    # Of the readings that have the most subtasks, the first counts.
    best, most = UNKNOWN, 0
    compared: list[Row] = []
    for reading in _readings(row, newest["at"], earlier):
        if any(reading is entry for entry in compared):
            continue  # far enough back for both spans
        compared.append(reading)
        candidate = _rates(reading, newest, row)
        values = (*candidate["counted_in_per_s"], *candidate["counted_out_per_s"])
        count = len(values) - values.count(None)
        if count > most:
            best, most = candidate, count
        if most == 2 * len(newest["attempt"]):
            break
    return best


def _readings(row: Row, at_ms: int, earlier: EarlierReadings) -> Iterator[Row]:
    first = row["counters"]["first"]
    for least_ms in (WANTED_SPAN_MS, LEAST_SPAN_MS):
        if first is not None and at_ms - first["at"] >= least_ms:
            yield first
        if reported := earlier.before(row["vertex_id"], at_ms - least_ms, at_ms - MOST_SPAN_MS):
            yield reported


def _rates(start: Row, newest: Row, row: Row) -> Mapping[str, Any]:
    span_ms = newest["at"] - start["at"]
    read, emitted = (
        _per_second(newest, start, name, span_ms, row[f"{name}_per_s"] or ())
        for name in ("records_in", "records_out")
    )
    return (
        {"counted_ms": span_ms, "counted_in_per_s": read, "counted_out_per_s": emitted}
        if read or emitted
        else UNKNOWN
    )


def _per_second(
    newest: Row, start: Row, name: str, span_ms: int, meters: Sequence[float | None]
) -> tuple[float | None, ...]:
    """Rates by subtask. None if the attempt changed, the counter fell, or it stood still (was not
    collected) while the meter was positive.
    """
    subtasks = len(newest["attempt"])
    of_subtasks = zip(
        newest["attempt"],
        _per_subtask(start["attempt"], subtasks),
        newest[name],
        _per_subtask(start[name], subtasks),
        _per_subtask(meters, subtasks),
        strict=True,
    )
    rates_per_s = [
        (count - before) * 1000 / span_ms
        if attempt is not None
        and attempt == attempt_before
        and count is not None
        and before is not None
        and (count > before or (count == before and not (meter or 0) > 0))
        else None
        for attempt, attempt_before, count, before, meter in of_subtasks
    ]
    return () if rates_per_s.count(None) == subtasks else tuple(rates_per_s)


def _per_subtask(values: Sequence[Any], subtasks: int) -> Sequence[Any]:
    return [*values[:subtasks], *[None] * (subtasks - len(values))]
