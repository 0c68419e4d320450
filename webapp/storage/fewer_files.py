"""How many files fewer a job's checkpoint would write with merging, or with small states inline, by
its newest ``_metadata``.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from ingest.flink_rest.versions import release
from ingest.lake.derived import with_same_rows
from ingest.lake.tables import REFERENCES
from ingest.metadata.owners import owner_directory
from spark_jobs.filesystem_calls.checkpoint_files import COLUMNS, CheckpointFiles, checkpoint_files
from spark_jobs.filesystem_calls.inlining import (
    LARGEST_FILE_BYTES,
    THREADS,
    inlined,
    knee,
    most_merged_files,
)
from webapp.fleet.models import JobCurrent
from webapp.lib import scopes
from webapp.lib.flink_values import size_bytes, whole
from webapp.storage.directory_owners import owner_of
from webapp.work.lake import lake

log = logging.getLogger(__name__)

LOOK_BACKS = (timedelta(days=2), timedelta(days=30))
"""Roots are audited daily; what is older than a month is not kept."""
MOST_FILES = 10_000
MOST_HANDLES = 300_000
"""About half a gigabyte while it is read, as much as one request may take."""
_OF_FILE = (
    "cluster",
    "observed_at",
    "metadata_path",
    "metadata_bytes",
    "checkpoint_id",
    "checkpoint_type",
    "handles",
)


def newest_files(cluster: str, job_id: str, at: datetime) -> CheckpointFiles | None:
    """Files of its newest checkpoint; None if none was read, or it has more handles than are read
    here. Raises as the storage.
    """
    for look_back in LOOK_BACKS:
        candidates = [
            (row, table)
            for table in with_same_rows(REFERENCES.name)
            for row in _files(table, cluster, job_id, at - look_back, at)
        ]
        if candidates:
            row, table = max(
                candidates, key=lambda pair: (pair[0]["checkpoint_id"] or 0, pair[0]["observed_at"])
            )
            return _read(row, table)
    return None


def _files(
    table: str, cluster: str, job_id: str, start: datetime, end: datetime
) -> list[dict[str, Any]]:
    where: dict[str, str | int] = {"job_id": job_id, "ordinal": 0}
    rows = (
        lake()
        .read(table, where=where, from_time=start, to_time=end, columns=_OF_FILE, limit=MOST_FILES)
        .to_pylist()
    )

    @cache
    def is_of_job(directory: str) -> bool:
        # An audit reads files without their cluster, and jobs of other clusters may have the id.
        with scopes.everything():  # to compare, not to show
            owner = owner_of(directory)
        return owner is not None and (owner.cluster, owner.job_id) == (cluster, job_id)

    return [
        row
        for row in rows
        if "avepoint" not in (row["checkpoint_type"] or "")
        and (
            row["cluster"] == cluster
            or (
                not row["cluster"]
                and is_of_job(owner_directory(row["metadata_path"].rpartition("/")[0]))
            )
        )
    ]


def _read(row: dict[str, Any], table: str) -> CheckpointFiles | None:
    if (row["handles"] or 0) > MOST_HANDLES:
        return None
    path, at = row["metadata_path"], row["observed_at"]
    rows = lake().read(
        table,
        where={"metadata_path": path},
        from_time=at,
        to_time=at,
        columns=("ordinal", *COLUMNS),
        limit=MOST_HANDLES + 1,
    )
    handles = (handle for handle in rows.to_pylist() if handle["ordinal"])
    return checkpoint_files(handles, path.rpartition("/")[0], row["metadata_bytes"] or 0)


_LARGEST_FILE = "execution.checkpointing.file-merging.max-file-size"
_RETAINED = ("state.checkpoints.num-retained", "execution.checkpointing.num-retained")
_THREADS = "state.backend.rocksdb.checkpoint.transfer.thread.num"
_MERGES_SINCE = (1, 20)


@dataclass(frozen=True)
class FewerFiles:
    """``merged``: upper bound, None if its version cannot merge or already does. ``inlined``: with
    a threshold of ``inline_bytes``, at the knee.
    """

    merged: int | None = None
    inlined: int | None = None
    inline_bytes: int | None = None


def fewer_files(job: JobCurrent, now: datetime) -> FewerFiles:
    """By the settings of its cluster, else Flink's defaults; a job's may differ."""
    try:
        files = newest_files(job.cluster, job.job_id, now)
    except Exception:  # The lake may be on any storage, with any error.
        log.exception(
            "References of %s on %s could not be read from the lake", job.job_id, job.cluster
        )
        return FewerFiles()
    if files is None:
        return FewerFiles()
    known, version = job.configuration or {}, release(job.flink_version)
    merged = None
    if version is not None and version[:2] >= _MERGES_SINCE and not files.merged.any():
        largest_bytes = size_bytes(known.get(_LARGEST_FILE), LARGEST_FILE_BYTES)
        merged = most_merged_files(files, whole(known.get(_THREADS), THREADS), largest_bytes)
    retained = next((whole(known[key], 1) for key in reversed(_RETAINED) if key in known), 1)
    best = knee(inlined(files, retained))
    return FewerFiles(merged, best.files if best else None, best.threshold_bytes if best else None)
