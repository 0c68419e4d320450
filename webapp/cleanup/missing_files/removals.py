"""Which files went between two audits, and whether that looks like a rule by age or like a
directory that was removed.

Only directories of jobs that had ended by the first audit are compared: in them Flink itself
deletes nothing any more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class Removals:
    """``oldest_left`` and ``newest_gone`` are times of modification; ``out_of_order``: files left
    that are as old as the newest gone.

    ``own_*`` count files of the missing file's own directory. ``whole_directories``: all that lost
    files lost every one of them, and each was idle for longer than any that is left.
    """

    directories: int
    files: int
    gone: int
    gone_directories: int
    own_files: int
    own_gone: int
    newest_gone: datetime | None
    oldest_left: datetime | None
    out_of_order: int
    whole_directories: bool
    first_as_of: datetime
    second_as_of: datetime

    @property
    def whole_own_directory(self) -> bool:
        return self.own_gone == self.own_files > 0

    @property
    def least_age(self) -> timedelta | None:
        """A rule that took ``newest_gone`` and left ``oldest_left`` deletes what is older than this
        at least …
        """
        return (
            None
            if self.oldest_left is None
            else max(self.first_as_of - self.oldest_left, timedelta(0))
        )

    @property
    def most_age(self) -> timedelta | None:
        """… and than this at most."""
        return None if self.newest_gone is None else self.second_as_of - self.newest_gone


def removals(
    before: Iterable[Mapping[str, Any]],
    left: set[str],
    own_job: str,
    first_as_of: datetime,
    second_as_of: datetime,
) -> Removals:
    """``before``: files of ended jobs with ``path``, ``modified`` and ``job_id``; ``left``: paths
    that the second audit still listed.
    """
    rows = [row for row in before if row["modified"] is not None]
    gone = [row for row in rows if row["path"] not in left]
    stay = [row for row in rows if row["path"] in left]
    newest_gone = max((row["modified"] for row in gone), default=None)
    lost, kept = {row["job_id"] for row in gone}, {row["job_id"] for row in stay}
    idle = _idle_since(rows)
    last_of_lost = max((idle[job] for job in lost), default=None)
    return Removals(
        directories=len(idle),
        files=len(rows),
        gone=len(gone),
        gone_directories=len(lost),
        own_files=sum(row["job_id"] == own_job for row in rows),
        own_gone=sum(row["job_id"] == own_job for row in gone),
        newest_gone=newest_gone,
        oldest_left=min((row["modified"] for row in stay), default=None),
        out_of_order=sum(row["modified"] <= newest_gone for row in stay) if newest_gone else 0,
        whole_directories=bool(lost)
        and not lost & kept
        and all(idle[job] > last_of_lost for job in kept if last_of_lost),
        first_as_of=first_as_of,
        second_as_of=second_as_of,
    )


def _idle_since(rows: Iterable[Mapping[str, Any]]) -> dict[str, datetime]:
    instants: dict[str, datetime] = {}
    for row in rows:
        instants[row["job_id"]] = max(row["modified"], instants.get(row["job_id"], row["modified"]))
    return instants
