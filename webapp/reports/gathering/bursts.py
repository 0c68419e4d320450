"""Checkpoints of many jobs at once, as a digest tells them: calls to each file system in its worst second."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from webapp.filesystem_calls import fleet_calls
from webapp.filesystem_calls.fleet_calls import FileSystemCalls
from webapp.filesystem_calls.fleet_jobs import WINDOW
from webapp.lib.instants import day_and_clock_text
from webapp.lib.quantities import count_text
from webapp.reports.document import Table

MOST_FILE_SYSTEMS, MOST_NAMES = 20, 3


@dataclass(frozen=True)
class Bursts:
    """Of the newest minutes of the time reported that have checkpoints, from ``start`` on; how many file systems are ``left_out``."""

    start: datetime
    file_systems: tuple[FileSystemCalls, ...]
    left_out: int = 0

    @property
    def worst(self) -> FileSystemCalls | None:
        """Where several jobs meet in the worst second, the one with most calls."""
        return next((one for one in self.file_systems if one.peak and len(one.together) > 1), None)


def read(start: datetime, end: datetime) -> Bursts | None:
    """None where nothing took a checkpoint in this time."""
    began, found = fleet_calls.bursts(end)
    if not found or began + WINDOW < start:
        return None
    return Bursts(began, tuple(found[:MOST_FILE_SYSTEMS]), max(len(found) - MOST_FILE_SYSTEMS, 0))


def table(bursts: Bursts) -> Table:
    columns = ("File system", "Jobs", "Calls/s over time", "Worst second", "At (UTC)", "Jobs together", "If staggered", "Most calls by")
    rows = tuple(_row(one) for one in bursts.file_systems)
    note = f"of the {fleet_calls.SECONDS // 60} minutes from {day_and_clock_text(bursts.start)} on, by the files of each checkpoint"
    if bursts.left_out:
        note += f"; {count_text(bursts.left_out)} more file systems are left out"
    return Table("Calls to file systems", columns, rows, (1, 2, 3, 4, 5, 6), note)


def _row(one: FileSystemCalls) -> tuple[str, ...]:
    name, jobs = one.file_system or "not known", count_text(one.jobs)
    if one.unknown:
        jobs += f", {count_text(one.unknown)} of them not known"
    if one.peak_at is None:
        return name, jobs, "–", "–", "–", "–", "–", "no audit counted their files"
    gains = one.staggered_peak < one.steady_peak
    return (
        name,
        jobs,
        f"{one.per_s:,.1f}",
        f"{one.peak:,.0f}",
        day_and_clock_text(one.peak_at),
        count_text(len(one.together)),
        f"{one.staggered_peak:,.0f} of {one.steady_peak:,.0f}" if gains else "no gain",
        _names([job.name for job in one.together]),
    )


def _names(names: Sequence[str]) -> str:
    more = f" and {count_text(len(names) - MOST_NAMES)} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def sentence(one: FileSystemCalls, start: datetime) -> str:
    """``start``: of the minutes looked at, which are not all of the time reported."""
    name, minutes = one.file_system or "a file system that is not known", fleet_calls.SECONDS // 60
    together = f"{count_text(len(one.together))} jobs write checkpoints at once: {one.peak:,.0f} calls to {name}"
    return f"{together} in the worst second of the {minutes} minutes from {day_and_clock_text(start)} on."
