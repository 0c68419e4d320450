"""Daily care of the lake: small files merged, replaced ones removed a day later."""

from ingest.lake.tables import TABLES
from webapp.pipeline.lake import lake
from webapp.pipeline.runs import RunRecord


def care(record: RunRecord) -> None:
    """Compact and vacuum every table. Readers pinned to an older version keep their files for 24 hours."""
    opened = lake()
    for table in TABLES:
        merged = opened.compact(table)
        removed = opened.vacuum(table)
        record.counts[table] = {"merged": merged.get("numFilesRemoved", 0), "removed": len(removed)}
        record.say(f"{table}: {merged.get('numFilesRemoved', 0)} files merged, {len(removed)} replaced files removed")
