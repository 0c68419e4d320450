"""Daily care of the lake: small files merged, replaced ones removed a day later."""

from ingest.lake.damage import LakeDamaged
from ingest.lake.tables import TABLES
from webapp.pipeline.lake import lake
from webapp.pipeline.runs import RunRecord


def care(record: RunRecord) -> None:
    """Compact and vacuum every table. Readers pinned to an older version keep their files for 24 hours.

    Raises ``LakeDamaged`` for the first table that cannot be cared for, after all others were.
    """
    opened, damage = lake(), None
    for table in TABLES:
        try:
            merged, removed = opened.compact(table), opened.vacuum(table)
        except LakeDamaged as error:
            damage = damage or error
            record.say(str(error))
            continue
        record.counts[table] = {"merged": merged.get("numFilesRemoved", 0), "removed": len(removed)}
        record.say(f"{table}: {merged.get('numFilesRemoved', 0)} files merged, {len(removed)} replaced files removed")
    if damage:
        raise damage
