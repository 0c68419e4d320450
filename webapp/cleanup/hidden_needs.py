"""What of a plan may be needed by now though no ``_metadata`` refers to it: task-owned files, of which
only the audit knows of which jobs a snapshot is retained, or somebody stems from; what a doubt of
the audit reaches; what rests on an attestation that does not count any more; what an operator
excluded; and checkpoints whose heirs have no whole one of their own any more.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage.layout import METADATA_NAME, TASK_OWNED
from webapp.cleanup.errors import Halted
from webapp.cleanup.file_names import Places, below
from webapp.cleanup.plan_reader import Chunk
from webapp.cleanup.recheck import FreshAudit
from webapp.work.run_files import parquet_batches

BATCH_ROWS = 50_000
_JOB = re.compile(r"/([0-9a-f]{32})/chk-\d+/_metadata\Z")


class HiddenNeeds:
    """By one audit. ``attested``: directories and ids of dead jobs on whose word files of the plan
    may go.
    """

    def __init__(self, audit: FreshAudit, attested: Iterable[str] = ()) -> None:
        self._reached = Places([*audit.doubted, *(set(attested) - audit.dead)])
        self._excluded = audit.excluded
        ids = [row["job_id"] for row in _rows(audit.needed_files)]
        self._of_all = None in ids
        self._jobs = {job_id for job_id in ids if job_id is not None}
        self._heirs = {
            origin[1]: str(row["job_id"])
            for row in _rows(audit.restores_files)
            if row["needs"] and (origin := _JOB.search(f"{row['restored_path']}/{METADATA_NAME}"))
        }

    def knows(self, metadata_path: str) -> bool:
        """Whether the audit searched the needs of the job that writes checkpoints there."""
        job = _JOB.search(metadata_path)
        return self._of_all or (job is not None and job[1] in self._jobs)

    def refuse_inherited(self, taken: Iterable[str]) -> None:
        """Raises :class:`Halted` where a job was restored from a checkpoint of the job whose
        ``_metadata`` was taken, and would have to be again.
        """
        for path in taken:
            job = _JOB.search(path)
            if job and (heir := self._heirs.get(job[1])):
                raise Halted(
                    f"Job {heir} was restored from a checkpoint of the job of {path}, and no whole "
                    "checkpoint of its own is known by now. Nothing more was moved or purged: undo "
                    "the plan."
                )

    def among(self, chunk: Chunk, *, of_any: bool = False) -> set[str]:
        """Paths; ``of_any``: of whatever job."""
        rows = chunk.rows.filter(
            pc.is_in(chunk.rows.column("place"), pa.array(TASK_OWNED, pa.string()))
        )
        if not (of_any or self._of_all):
            jobs = pa.array(sorted(self._jobs), pa.string())
            rows = rows.filter(pc.is_in(rows.column("job_id"), jobs))
        return {
            *rows.column("path").to_pylist(),
            *self._reached.among(chunk.rows.column("path")),
            *below(chunk.rows.column("path"), self._excluded),
        }


def _rows(files: Iterable[str]) -> Iterator[dict[str, Any]]:
    for batch in parquet_batches(files, BATCH_ROWS):
        yield from batch.to_pylist()
