"""The newest checkpoint of a job whose ``_metadata`` the lake has: as an audit of storage read it,
or the collector around a restore.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from ingest.lake.derived import with_same_rows
from ingest.lake.tables import REFERENCES
from ingest.metadata.owners import owner_directory
from spark_jobs.filesystem_calls.checkpoint_files import COLUMNS, CheckpointFiles, checkpoint_files
from webapp.lib import scopes
from webapp.storage.directory_owners import owner_of
from webapp.work.lake import lake

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
    "metadata_modified",
    "checkpoint_id",
    "checkpoint_type",
    "handles",
)


@dataclass(frozen=True)
class ReadMetadata:
    """``files`` None where it has more handles than a page reads."""

    path: str
    checkpoint_id: int | None
    modified: datetime | None
    handles: int
    files: CheckpointFiles | None


def newest_metadata(cluster: str, job_id: str, at: datetime) -> ReadMetadata | None:
    """None where nobody read one; raises what the storage raises."""
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


def _read(row: dict[str, Any], table: str) -> ReadMetadata:
    path, handles = row["metadata_path"], row["handles"] or 0
    files = None
    if handles <= MOST_HANDLES:
        at = row["observed_at"]
        rows = lake().read(
            table,
            where={"metadata_path": path},
            from_time=at,
            to_time=at,
            columns=("ordinal", *COLUMNS),
            limit=MOST_HANDLES + 1,
        )
        of_state = (one for one in rows.to_pylist() if one["ordinal"])
        files = checkpoint_files(of_state, path.rpartition("/")[0], row["metadata_bytes"] or 0)
    return ReadMetadata(path, row["checkpoint_id"], row["metadata_modified"], handles, files)
