"""Full sizes from ``_metadata``: before Flink 1.15 nothing else has the full size of an incremental
checkpoint. A file is matched by the directory that REST reported, else by the job's directory and
the checkpoint id, unless the job has a fixed id. If an id was triggered several times, the file is
of the last trigger before it was written.
"""

import re
from collections.abc import Iterable

from spark_jobs.fold.rows import Row, Rows, first_known, grouped
from spark_jobs.fold.snapshots import directory_of
from spark_jobs.fold.triggers import CLOCK_SLACK_MS, CheckpointKey

_FIXED_ID = re.compile(r"0{16}$")
"""In application mode with high availability: ``new JobID(hash of the cluster's id, 0)``, up to
1.14 ``new JobID(0, 0)``.
"""


class FullSizes:
    """``snapshots`` may be of other jobs too. ``triggers``: all triggers of the job."""

    def __init__(
        self, job_id: str, snapshots: Rows = (), triggers: Iterable[CheckpointKey] = ()
    ) -> None:
        rows = [{**row, "directory": directory_of(row["metadata_path"])} for row in snapshots]
        self._by_directory = grouped(rows, "directory")
        job_rows = (row for row in rows if row["owner_id"] == job_id)
        self._by_number = grouped(() if _FIXED_ID.search(job_id) else job_rows, "checkpoint_id")
        self._triggers: dict[int, set[int]] = {}
        for number, trigger in triggers if rows else ():
            self._triggers.setdefault(number, set()).add(trigger)

    def of(self, key: CheckpointKey, path: str | None) -> int | None:
        """Bytes; None if no file matches, or several different ones do."""
        directory = directory_of(path)
        rows = (
            self._by_number.get(key[0], ())
            if directory is None
            else self._by_directory.get(directory, ())
        )
        sizes = {row["state_bytes"] for row in rows if self._is_of(row, key)}
        return sizes.pop() if len(sizes) == 1 else None

    def _is_of(self, row: Row, key: CheckpointKey) -> bool:
        if row["checkpoint_id"] != key[0]:
            return False
        written_at = row["metadata_modified"]
        latest = first_known(written_at, row["observed_at"]) + CLOCK_SLACK_MS
        triggers = {*self._triggers.get(key[0], ()), key[1]}
        earlier = {trigger for trigger in triggers if trigger <= latest}
        return earlier == {key[1]} if written_at is None else max(earlier, default=None) == key[1]
