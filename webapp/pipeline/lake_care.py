"""Daily maintenance of the lake: merges small files, removes replaced files after a day, and
removes checkpoint facts that are older than their roll-ups are kept.
"""

from django.utils import timezone

from ingest.lake.damage import LakeDamaged
from ingest.lake.derived import ALL_TABLES, CHECKPOINT_FACTS
from ingest.lake.store import Lake
from webapp.config.row_retention import sums
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.pipeline import retention
from webapp.work.lake import lake
from webapp.work.runs import RunRecord


def care(record: RunRecord) -> None:
    """Raises the first :class:`LakeDamaged` after the last table."""
    open_lake, damage = lake(), None
    for table in ALL_TABLES:
        try:
            if table == CHECKPOINT_FACTS.name and (forgotten := _forget(open_lake)):
                record.say(f"{table}: {forgotten} rows older than their roll-ups removed")
            merged, removed = open_lake.compact(table), open_lake.vacuum(table)
        except LakeDamaged as error:
            damage = damage or error
            record.say(str(error))
            continue
        record.counts[table] = {"merged": merged.get("numFilesRemoved", 0), "removed": len(removed)}
        record.say(
            f"{table}: {merged.get('numFilesRemoved', 0)} files merged, {len(removed)} replaced "
            "files removed"
        )
    if damage:
        raise damage


def _forget(open_lake: Lake) -> int:
    recordings = Cluster.objects.filter(kind=ClusterKind.RECORDING).values_list("name", flat=True)
    return open_lake.forget(
        CHECKPOINT_FACTS.name, (retention.as_of(timezone.now()) - sums()).date(), list(recordings)
    )
