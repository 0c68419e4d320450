"""Task-owned files of a plan that may be needed by now: no ``_metadata`` refers to them, so that only
the audit knows of which jobs a snapshot is retained, or somebody stems from.
"""

import re

import fsspec
import pyarrow as pa
import pyarrow.compute as pc

from ingest.parquet_stream import ParquetStream
from ingest.storage.layout import TASK_OWNED
from webapp.cleanup.plan_reader import Chunk
from webapp.cleanup.recheck import FreshAudit

_JOB = re.compile(r"/([0-9a-f]{32})/chk-\d+/_metadata\Z")


class HiddenNeeds:
    """As one audit found them."""

    def __init__(self, audit: FreshAudit) -> None:
        ids: list[str | None] = []
        for file in audit.needed_files:
            with fsspec.open(file, "rb") as stream:
                for batch in ParquetStream(stream).iter_batches():
                    ids += batch.column("job_id").to_pylist()
        self._of_all = None in ids
        self._jobs = {job_id for job_id in ids if job_id is not None}

    def knows(self, metadata_path: str) -> bool:
        """Whether a checkpoint that appears there is of a job whose needs the audit looked for."""
        job = _JOB.search(metadata_path)
        return self._of_all or (job is not None and job[1] in self._jobs)

    def among(self, chunk: Chunk, *, of_any: bool = False) -> set[str]:
        """Paths; ``of_any``: of whatever job."""
        rows = chunk.rows.filter(
            pc.is_in(chunk.rows.column("place"), pa.array(TASK_OWNED, pa.string()))
        )
        if not (of_any or self._of_all):
            jobs = pa.array(sorted(self._jobs), pa.string())
            rows = rows.filter(pc.is_in(rows.column("job_id"), jobs))
        return set(rows.column("path").to_pylist())
