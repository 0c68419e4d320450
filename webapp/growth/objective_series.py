"""Good and bad counts over time, as plain data: ``[[number of the minute or hour, good, bad]]``,
oldest first, only those in which anything could be judged.
"""

from collections.abc import Iterable, Sequence

from spark_jobs.diagnosis.objective_samples import BURN_WINDOWS, Counts

HOURS_KEPT = 30 * 24
MINUTES_KEPT = max(window.short_min for window in BURN_WINDOWS) + 60
"""The short windows by the minute, and an hour to sum up the full ones."""
FULL_HOURS = MINUTES_KEPT // 60 - 1
"""That lie within what is kept by the minute as a whole, whatever minute it is."""
Series = Sequence[Sequence[int]]


def replaced(
    series: Series, new: Iterable[Sequence[int]], since: int, kept: int
) -> list[list[int]]:
    """The series with what is ``new`` in place of all from ``since`` on, the last ``kept`` numbers
    of it.
    """
    known = {number: [number, good, bad] for number, good, bad in series if number < since}
    known |= {number: [number, good, bad] for number, good, bad in new}
    newest = max(known, default=0)
    return [known[number] for number in sorted(known) if number > newest - kept]


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


def counts(series: Series, after: int) -> Counts:
    """Of everything later than ``after``."""
    good = sum(row[1] for row in series if row[0] > after)
    bad = sum(row[2] for row in series if row[0] > after)
    return Counts(bad, good + bad)


def long_counts(minutes: Series, hours: Series, minute: int, length: int) -> Counts:
    """Of full hours and of the minutes of the hour that is not over yet."""
    full = counts(hours, minute // 60 - length // 60)
    running = counts(minutes, minute // 60 * 60 - 1)
    return Counts(full.bad + running.bad, full.total + running.total)


def window_counts(minutes: Series, hours: Series, minute: int) -> dict[int, Counts]:
    """By the length of each window in minutes, up to ``minute``. Windows that are longer than what
    is known by the minute are of whole hours.
    """
    lengths = {length for one in BURN_WINDOWS for length in (one.long_min, one.short_min)}
    return {
        length: counts(minutes, minute - length)
        if length < MINUTES_KEPT
        else long_counts(minutes, hours, minute, length)
        for length in lengths
    }


def observed_min(minutes: Series, hours: Series, minute: int) -> int:
    """Minutes since the first that could be judged."""
    first = [minutes[0][0]] if minutes else []
    first += [hours[0][0] * 60] if hours else []
    return minute - min(first) + 1 if first else 0
