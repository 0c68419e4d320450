"""Good and bad counts over time, as plain data: ``[[number of the minute or hour, good, bad]]``,
oldest first, only those in which anything could be judged.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.diagnosis.objective_samples import BURN_WINDOWS, Counts

HOURS_KEPT = 30 * 24
MINUTES_KEPT = max(window.short_min for window in BURN_WINDOWS) + 60
"""The short windows by the minute, and an hour to sum up the full ones."""
FULL_HOURS = MINUTES_KEPT // 60 - 1
"""That lie within what is kept by the minute as a whole, whatever minute it is."""
BUDGET_MIN = HOURS_KEPT * 60
_LENGTHS = {length for one in BURN_WINDOWS for length in (one.long_min, one.short_min)}
_BY_MINUTE = sorted(length for length in _LENGTHS if length < MINUTES_KEPT)
_BY_HOUR = sorted({length for length in _LENGTHS if length >= MINUTES_KEPT} | {BUDGET_MIN})
Series = Sequence[Sequence[int]]


@dataclass(frozen=True)
class HourSums:
    """Of the full hours before ``hour``: by the length of a window in minutes. They stay the same
    for an hour, so the hours themselves are read once in it. ``first_minute``: of the oldest.
    """

    hour: int
    first_minute: int | None
    by_length: dict[int, Counts]

    def to_json(self) -> list[Any]:
        counts = [(length, one.bad, one.total) for length, one in self.by_length.items()]
        return [self.hour, self.first_minute, counts]

    @classmethod
    def from_json(cls, plain: Sequence[Any]) -> "HourSums":
        hour, first_minute, counts = plain
        return cls(
            hour, first_minute, {length: Counts(bad, total) for length, bad, total in counts}
        )


def replaced(
    series: Series, new: Iterable[Sequence[int]], since: int, kept: int
) -> list[list[int]]:
    """The series with what is ``new`` in place of all from ``since`` on, the last ``kept`` numbers
    of it.
    """
    rows = [list(row) for row in series[: bisect_left(series, since, key=_number)]]
    rows += sorted(list(row) for row in new)
    newest = rows[-1][0] if rows else 0
    return rows[bisect_left(rows, newest - kept + 1, key=_number) :]


def full_hours(minutes: Series, minute: int) -> list[list[int]]:
    """Sums of the hours that ended before ``minute`` and that ``minutes`` has as a whole."""
    hours: dict[int, list[int]] = {}
    for number, good, bad in minutes:
        row = hours.setdefault(number // 60, [number // 60, 0, 0])
        row[1] += good
        row[2] += bad
    return [
        hours[hour] for hour in sorted(hours) if minute // 60 - FULL_HOURS <= hour < minute // 60
    ]


def hour_sums(hours: Series, hour: int) -> HourSums:
    return HourSums(
        hour,
        hours[0][0] * 60 if hours else None,
        {length: _counts(hours, hour - length // 60) for length in _BY_HOUR},
    )


def window_counts(minutes: Series, sums: HourSums, minute: int) -> dict[int, Counts]:
    """By the length of each window in minutes and of that of the budget, up to ``minute``. Windows
    that are longer than what is known by the minute are of full hours, and of the minutes of the
    hour that is not over yet.
    """
    running = _counts(minutes, sums.hour * 60 - 1)
    longer = {
        length: Counts(full.bad + running.bad, full.total + running.total)
        for length, full in sums.by_length.items()
    }
    return longer | {length: _counts(minutes, minute - length) for length in _BY_MINUTE}


def observed_min(minutes: Series, sums: HourSums, minute: int) -> int:
    """Minutes since the first that could be judged; of one that is known by its hour alone, since
    the beginning of that.
    """
    first = minutes[0][0] if minutes else minute + 1
    if sums.first_minute is not None and sums.first_minute < first // 60 * 60:
        first = sums.first_minute
    return minute - first + 1


def _counts(series: Series, after: int) -> Counts:
    """Of everything later than ``after``."""
    good = bad = 0
    for row in series[bisect_left(series, after + 1, key=_number) :]:
        good += row[1]
        bad += row[2]
    return Counts(bad, good + bad)


def _number(row: Sequence[int]) -> int:
    return row[0]
