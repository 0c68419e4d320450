"""Finds planned files that may be needed by now although no ``_metadata`` refers to them:

* task-owned files of jobs that the audit names, because a snapshot of the job is retained or
  another job was restored from one;
* files that a doubt of the audit reaches, that an operator excluded, or whose job is no longer
  stated to be dead;
* checkpoints of a job, if another job was restored from one and has no complete checkpoint now.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage.layout import METADATA_NAME, TASK_OWNED
from webapp.cleanup.errors import Halted
from webapp.cleanup.file_names import PlaceMatcher, below
from webapp.cleanup.plan_reader import Chunk
from webapp.cleanup.recheck import FreshAudit
from webapp.work.run_files import parquet_batches

_JOB = re.compile(r"/([0-9a-f]{32})/chk-\d+/_metadata\Z")


class HiddenNeeds:
    """Needs according to one audit. ``attested``: directories and ids of jobs that were dead by
    statements which the plan quotes.
    """

    def __init__(self, audit: FreshAudit, attested: Iterable[str] = ()) -> None:
        self._doubted = PlaceMatcher([*audit.doubted, *(set(attested) - audit.dead)])
        self._excluded = audit.excluded
        ids = [row["job_id"] for row in _rows(audit.needed_files)]
        self._are_all_needed = None in ids
        self._jobs = {job_id for job_id in ids if job_id is not None}
        # Job id → a job restored from its snapshot
        self._heirs = {
            origin[1]: str(row["job_id"])
            for row in _rows(audit.restores_files)
            if row["needs"] and (origin := _JOB.search(f"{row['restored_path']}/{METADATA_NAME}"))
        }

    def knows(self, metadata_path: str) -> bool:
        """Whether the audit knows that the job of this checkpoint needs task-owned files."""
        match = _JOB.search(metadata_path)
        return self._are_all_needed or (match is not None and match[1] in self._jobs)

    def refuse_inherited(self, moved: Iterable[str]) -> None:
        """Raises :class:`Halted` if a job would have to be restored again from a checkpoint of a
        job whose ``_metadata`` was moved.
        """
        for path in moved:
            match = _JOB.search(path)
            heir = self._heirs.get(match[1]) if match else None
            if heir:
                raise Halted(
                    f"Job {heir} was restored from a checkpoint of the job of {path}, and no whole "
                    "checkpoint of its own is known by now. Nothing more was moved or purged: undo "
                    "the plan."
                )

    def among(self, chunk: Chunk, *, of_any: bool = False) -> set[str]:
        """Paths of files that may be needed; ``of_any``: task-owned files of any job."""
        rows = chunk.rows.filter(
            pc.is_in(chunk.rows.column("place"), pa.array(TASK_OWNED, pa.string()))
        )
        if not (of_any or self._are_all_needed):
            jobs = pa.array(sorted(self._jobs), pa.string())
            rows = rows.filter(pc.is_in(rows.column("job_id"), jobs))
        return {
            *rows.column("path").to_pylist(),
            *self._doubted.among(chunk.rows.column("path")),
            *below(chunk.rows.column("path"), self._excluded),
        }


def _rows(files: Iterable[str]) -> Iterator[dict[str, Any]]:
    for batch in parquet_batches(files):
        yield from batch.to_pylist()
