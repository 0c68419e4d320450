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
        return next(
            (system for system in self.file_systems if system.peak and len(system.together) > 1),
            None,
        )


def read(start: datetime, end: datetime) -> Bursts | None:
    """None where nothing took a checkpoint in this time."""
    began, file_systems = fleet_calls.bursts(end)
    if not file_systems or began + WINDOW < start:
        return None
    return Bursts(
        began,
        tuple(file_systems[:MOST_FILE_SYSTEMS]),
        max(len(file_systems) - MOST_FILE_SYSTEMS, 0),
    )


def table(bursts: Bursts) -> Table:
    columns = (
        message("File system"),
        message("Jobs"),
        message("Calls/s over time"),
        message("Worst second"),
        message("At (UTC)"),
        message("Jobs together"),
        message("Most calls by"),
    )
    rows = tuple(_row(system) for system in bursts.file_systems)
    note = message(
        "of the {seconds:number} minutes from {start:name} on, by the files of each checkpoint",
        seconds=fleet_calls.SECONDS // 60,
        start=day_and_clock_text(bursts.start),
    )
    if bursts.left_out:
        note += message(
            "; {left_out:name} more file systems are left out", left_out=count_text(bursts.left_out)
        )
    return Table(message("Calls to file systems"), columns, rows, (1, 2, 3, 4, 5), note)


def _row(system_calls: FileSystemCalls) -> tuple[str, ...]:
    name, jobs = system_calls.file_system or message("not known"), count_text(system_calls.jobs)
    if system_calls.unknown:
        jobs += message(
            ", {unknown:name} of them not known", unknown=count_text(system_calls.unknown)
        )
    if system_calls.peak_at is None:
        return name, jobs, "–", "–", "–", "–", message("no audit counted their files")
    return (
        name,
        jobs,
        f"{system_calls.per_s:,.1f}",
        f"{system_calls.peak:,.0f}",
        day_and_clock_text(system_calls.peak_at),
        count_text(len(system_calls.together)),
        _names([job.name for job in system_calls.together]),
    )


def _names(names: Sequence[str]) -> str:
    more = (
        message(" and {names:name} more", names=count_text(len(names) - MOST_NAMES))
        if len(names) > MOST_NAMES
        else ""
    )
    return ", ".join(names[:MOST_NAMES]) + more


def sentence(system_calls: FileSystemCalls, start: datetime) -> str:
    """``start``: of the minutes looked at, which are not all of the time reported."""
    name = system_calls.file_system or message("a file system that is not known")
    minutes = fleet_calls.SECONDS // 60
    together = message(
        "{together:name} jobs write checkpoints at once: {peak:count} calls to {name:name}",
        together=count_text(len(system_calls.together)),
        peak=system_calls.peak,
        name=name,
    )
    return message(
        "{together:message} in the worst second of the {minutes:number} minutes from {start:name} "
        "on.",
        together=together,
        minutes=minutes,
        start=day_and_clock_text(start),
    )
