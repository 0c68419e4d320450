"""Finds one file and its neighbours in the stored lists of audits."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from ingest.uris import is_below
from spark_jobs.audit_tables import STORAGE_FILE, STORAGE_LIVE, STORAGE_REFERENCE
from spark_jobs.manifest import Manifest
from webapp.storage.auditing import loading
from webapp.storage.models import StorageAudit
from webapp.work.run_files import file_uris, parquet_batches

MOST_AUDITS = 12
MOST_SCANNED = 5_000_000
"""Searching so many rows of an audit for one path takes some seconds."""
MOST_BESIDE = 500_000
TABLES = (STORAGE_FILE.name, STORAGE_LIVE.name)
_COLUMNS = ("bytes", "modified", "verdict", "reason", "first_seen_at")


class TooMany(Exception):
    """There are more files than a page can search."""


@dataclass(frozen=True)
class Listed:
    audit_id: str
    as_of: datetime
    bytes: int | None
    modified: datetime | None
    verdict: str
    reason: str
    first_seen_at: datetime | None


@dataclass(frozen=True)
class History:
    """``seen``: the file in the newest audit that listed it; ``gone``: the next audit, which did
    not. ``audits_read``: number of audits that were read.
    """

    seen: Listed | None
    gone: StorageAudit | None
    audits_read: int
    newest: StorageAudit | None


def history(path: str) -> History:
    """Searches the newest audits. Raises :class:`TooMany`, ``OSError`` and ``BadManifest``."""
    gone: StorageAudit | None = None
    audits_read, newest = 0, None
    for audit in _audits_covering(path):
        newest = newest or audit
        audits_read += 1
        manifest = loading.read_manifest(audit)
        rows = [
            row
            for table in TABLES
            for row in _rows(manifest, audit, table, "path", [path], _COLUMNS)
        ]
        if rows:
            return History(
                Listed(
                    audit.audit_id,
                    cast("datetime", audit.as_of),
                    **{name: rows[0][name] for name in _COLUMNS},
                ),
                gone,
                audits_read,
                newest,
            )
        gone = audit
    return History(None, gone, audits_read, newest)


def files_of_jobs(audit: StorageAudit, job_ids: Collection[str]) -> list[dict[str, Any]]:
    """Files in the directories of these jobs. Raises the errors of :func:`history`."""
    manifest = loading.read_manifest(audit)
    rows: list[dict[str, Any]] = []
    for table in TABLES:
        for row in _rows(manifest, audit, table, "job_id", job_ids, ("path", "modified", "job_id")):
            rows.append(row)
            if len(rows) > MOST_BESIDE:
                raise TooMany
    return rows


def referrers(audit: StorageAudit, path: str) -> list[str]:
    """``_metadata`` that referred to the path in the audit. Raises the errors of :func:`history`."""
    rows = _rows(
        loading.read_manifest(audit),
        audit,
        STORAGE_REFERENCE.name,
        "path",
        [path],
        ("metadata_path",),
    )
    return sorted(row["metadata_path"] for row in rows)


def _audits_covering(path: str) -> Iterator[StorageAudit]:
    audits = (
        StorageAudit.objects.loaded()
        .filter(files_kept=True)
        .order_by("-as_of", "-id")[:MOST_AUDITS]
    )
    return (audit for audit in audits if any(is_below(path, root) for root in audit.roots))


def _rows(
    manifest: Manifest,
    audit: StorageAudit,
    table: str,
    column: str,
    values: Collection[str],
    columns: tuple[str, ...],
) -> Iterator[dict[str, Any]]:
    if table in manifest.tables and manifest.tables[table].rows > MOST_SCANNED:
        raise TooMany
    value_set = pa.array(sorted(values), pa.string())
    names = tuple(dict.fromkeys(("audit_id", column, *columns)))
    for batch in parquet_batches(file_uris(manifest, table), names):
        matches = pc.and_(
            pc.is_in(batch[column].cast(pa.string()), value_set),
            pc.equal(batch["audit_id"].cast(pa.string()), audit.audit_id),
        )
        if pc.any(matches).as_py():
            yield from (dict.fromkeys(columns) | row for row in batch.filter(matches).to_pylist())
