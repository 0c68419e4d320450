"""The oldest file that snapshots of each job refer to, out of the lists that an audit left: files
of cold keys are never rewritten.
"""

from collections.abc import Sequence
from datetime import datetime

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
from django.core.cache import cache

from ingest.metadata.owners import owner_directory
from ingest.parquet_stream import ParquetStream
from spark_jobs.audit_tables import STORAGE_LIVE, STORAGE_REFERENCE
from spark_jobs.manifest import BadManifest, Manifest
from webapp.storage.auditing import loading
from webapp.storage.models import StorageAudit
from webapp.work.run_files import file_uris

MOST_READ = 500_000
"""Rows of one list that are read for a page: two seconds and some 200 MB."""
KEPT_S = 24 * 3600
_LISTS = (STORAGE_REFERENCE.name, STORAGE_LIVE.name)


def oldest_files(audit: StorageAudit) -> dict[str, datetime] | None:
    """Directory of a job → when the oldest of them was written.

    None where the lists of the audit are gone or too long.
    """
    key = f"oldest-files:{audit.audit_id}"
    kept: dict[str, datetime] | None = cache.get(key)
    if kept is not None:
        return kept
    try:
        manifest = loading.read_manifest(audit) if audit.files_kept else None
    except (OSError, BadManifest):
        manifest = None
    if manifest is None or any(
        manifest.tables[name].rows > MOST_READ for name in _LISTS if name in manifest.tables
    ):
        return None
    files = _oldest_referred(manifest, audit)
    cache.set(key, files, KEPT_S)
    return files


def _oldest_referred(manifest: Manifest, audit: StorageAudit) -> dict[str, datetime]:
    references = _column_table(manifest, audit, STORAGE_REFERENCE.name, ("metadata_path", "path"))
    files = _column_table(manifest, audit, STORAGE_LIVE.name, ("path", "modified"))
    # A third of the time and memory of a join.
    place = pc.index_in(references["path"], value_set=files["path"])
    written = files["modified"].combine_chunks().take(place.combine_chunks())
    oldest = pa.table({"metadata_path": references["metadata_path"], "modified": written}).group_by(
        "metadata_path"
    )
    instants: dict[str, datetime] = {}
    for row in oldest.aggregate([("modified", "min")]).to_pylist():
        directory = owner_directory(row["metadata_path"].rpartition("/")[0])
        if (at := row["modified_min"]) is not None:
            instants[directory] = min(at, instants.get(directory, at))
    return instants


def _column_table(
    manifest: Manifest, audit: StorageAudit, table: str, columns: Sequence[str]
) -> pa.Table:
    parts = []
    for uri in file_uris(manifest, table):
        with fsspec.open(uri, "rb") as stream:
            rows = ParquetStream(stream).read(["audit_id", *columns])
            parts.append(
                rows.filter(pc.equal(rows["audit_id"], audit.audit_id)).select(list(columns))
            )
    schema = pa.schema(
        [
            (name, pa.timestamp("us", tz="UTC") if name == "modified" else pa.string())
            for name in columns
        ]
    )
    return (
        pa.concat_tables([part.cast(schema) for part in parts]) if parts else schema.empty_table()
    )
