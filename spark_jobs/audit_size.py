"""Decides by Parquet footers whether an audit is small enough for one process."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.lake.derived import with_same_rows
from ingest.lake.reader import LakeReader
from ingest.storage.layout import METADATA_NAME
from spark_jobs.audit_inputs import listing_files
from spark_jobs.audit_request import Audit
from spark_jobs.manifest import Manifest
from spark_jobs.parsed_metadata import KEPT_FOR, TABLE
from spark_jobs.paths import absolute_root, is_local

MOST_LISTED, MOST_JOBS = 10_000, 5_000
MOST_STATE_ROWS = 50_000
MOST_REFERENCES = 100_000
MOST_METADATA_BYTES = 8 << 20
"""Bytes of all ``_metadata``; a reference takes about sixty bytes."""
MOST_JOBS_BYTES = 8 << 20


def fits_one_process(
    audits: Sequence[Audit], previous: Sequence[Manifest], lake: LakeReader, run_dir: str
) -> bool:
    """Whether all inputs are local and small. Raises Refused for an incomplete listing."""
    roots = [root for audit in audits for root in audit.roots]
    jobs = [absolute_root(audit.jobs) for audit in audits]
    state_files = [file for manifest in previous for file in manifest.state_files()]
    listings = [absolute_root(root.listing) for root in roots]
    if not is_local(lake.root, run_dir, *jobs, *listings, *state_files):
        return False
    list_files = [
        file.removeprefix("file://") for root in roots for file in listing_files(root.listing)
    ]
    if not all(Path(file).exists() for file in jobs):
        return False  # the reader refuses a missing file
    since = datetime.now(UTC) - KEPT_FOR
    stored_references = sum(
        file.rows for table in with_same_rows(TABLE) for file in lake.files(table, from_time=since)
    )
    return (
        _rows(list_files) <= MOST_LISTED
        and _rows(jobs) <= MOST_JOBS
        and sum(map(_uncompressed_bytes, jobs)) <= MOST_JOBS_BYTES
        and _rows(state_files) <= MOST_STATE_ROWS
        and sum(map(_metadata_bytes, list_files)) <= MOST_METADATA_BYTES
        and stored_references <= MOST_REFERENCES
    )


def _rows(files: Iterable[str]) -> int:
    return sum(pq.read_metadata(file).num_rows for file in files)


def _uncompressed_bytes(file: str) -> int:
    footer = pq.read_metadata(file)
    return sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))


def _metadata_bytes(listing: str) -> int:
    files = pq.read_table(listing, columns=["path", "bytes"])
    metadata = files.filter(pc.ends_with(files["path"], f"/{METADATA_NAME}"))
    return pc.sum(metadata["bytes"]).as_py() or 0
