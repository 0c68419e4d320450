"""Checkpoints of many jobs at once, as a digest tells them: calls to each file system in its worst
second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ingest.messages import message
from webapp.analyses.filesystem_calls import fleet_calls
from webapp.analyses.filesystem_calls.fleet_calls import FileSystemCalls
from webapp.analyses.filesystem_calls.fleet_jobs import WINDOW
from webapp.lib.instants import day_and_clock_text
from webapp.lib.quantities import count_text
from webapp.reports.document import Table

MOST_FILE_SYSTEMS, MOST_NAMES = 20, 3


@dataclass(frozen=True)
class Bursts:
    """Of the newest minutes of the time reported that have checkpoints, from ``start`` on; how many
    file systems are ``left_out``.
    """

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
    columns = (
        message("File system"),
        message("Jobs"),
        message("Calls/s over time"),
        message("Worst second"),
        message("At (UTC)"),
        message("Jobs together"),
        message("If staggered"),
        message("Most calls by"),
    )
    rows = tuple(_row(one) for one in bursts.file_systems)
    note = message(
        "of the {seconds:number} minutes from {start:name} on, by the files of each checkpoint",
        seconds=fleet_calls.SECONDS // 60,
        start=day_and_clock_text(bursts.start),
    )
    if bursts.left_out:
        note += message(
            "; {left_out:name} more file systems are left out", left_out=count_text(bursts.left_out)
        )
    return Table(message("Calls to file systems"), columns, rows, (1, 2, 3, 4, 5, 6), note)


def _row(one: FileSystemCalls) -> tuple[str, ...]:
    name, jobs = one.file_system or message("not known"), count_text(one.jobs)
    if one.unknown:
        jobs += message(", {unknown:name} of them not known", unknown=count_text(one.unknown))
    if one.peak_at is None:
        return name, jobs, "–", "–", "–", "–", "–", message("no audit counted their files")
    gains = one.staggered_peak < one.steady_peak
    return (
        name,
        jobs,
        f"{one.per_s:,.1f}",
        f"{one.peak:,.0f}",
        day_and_clock_text(one.peak_at),
        count_text(len(one.together)),
        message(
            "{staggered_peak:count} of {steady_peak:count}",
            staggered_peak=one.staggered_peak,
            steady_peak=one.steady_peak,
        )
        if gains
        else message("no gain"),
        _names([job.name for job in one.together]),
    )


def _names(names: Sequence[str]) -> str:
    more = (
        message(" and {names:name} more", names=count_text(len(names) - MOST_NAMES))
        if len(names) > MOST_NAMES
        else ""
    )
    return ", ".join(names[:MOST_NAMES]) + more


def sentence(one: FileSystemCalls, start: datetime) -> str:
    """``start``: of the minutes looked at, which are not all of the time reported."""
    name, minutes = (
        one.file_system or message("a file system that is not known"),
        fleet_calls.SECONDS // 60,
    )
    together = message(
        "{together:name} jobs write checkpoints at once: {peak:count} calls to {name:name}",
        together=count_text(len(one.together)),
        peak=one.peak,
        name=name,
    )
    return message(
        "{together:message} in the worst second of the {minutes:number} minutes from {start:name} "
        "on.",
        together=together,
        minutes=minutes,
        start=day_and_clock_text(start),
    )
