"""Sums up checkpoints by hour and day: new facts in the lake, through Spark, into the database.
Runs beside the cycle.
"""

from datetime import timedelta

from django.utils import timezone

from ingest.lake.store import Lake
from spark_jobs import kept_facts
from spark_jobs import manifest as manifests
from spark_jobs.manifest import BadManifest
from spark_jobs.previous_run import PreviousLost
from webapp.config import schedule
from webapp.fleet.models import Cluster
from webapp.pipeline import loader
from webapp.pipeline.table_models import SERVED
from webapp.work import hints, run_dirs, run_files, spark_job
from webapp.work.lake import lake
from webapp.work.lease import Lease
from webapp.work.models import DueWork, RolledUp
from webapp.work.runs import RunRecord
from webapp.work.upserts import upsert

KEY = "rollups/checkpoints"
TASK = spark_job.spark_task("pipeline.roll_up", schedule.SPARK)
TABLE = "checkpoint_rollup"
MOST_FILES = 64
"""Each cycle adds a small file, and each run reads all files of a day. More files than this in two
days are merged.
"""


def has_work() -> bool:
    open_lake = lake()
    return _is_behind(open_lake) or _has_news(open_lake)


def wake_first() -> None:
    """Hint at the first roll-ups at once, so that a new user sees them soon."""
    if (
        not RolledUp.objects.filter(table=kept_facts.TABLE).exists()
        and has_work()
        and DueWork.objects.filter(key=KEY).update(next_attempt_at=timezone.now())
    ):
        hints.hint(TASK, KEY)


def run(lease: Lease, record: RunRecord) -> None:
    open_lake = lake()
    _catch_up(open_lake, record)
    start, end = _start(open_lake), open_lake.version(kept_facts.TABLE)
    record.counts |= {"from": start, "to": end}
    if not _has_news(open_lake):
        return
    run_dir = run_dirs.of(record.row)
    path = spark_job.run_on_lake("rollups", run_dir, record, **{"from": start, "to": end})
    manifest = run_files.read_manifest(path, record.row.attempt)
    record.counts |= {
        "rows": manifest.tables[TABLE].rows if TABLE in manifest.tables else 0,
        "changed": _load(manifest, lease),
    }
    record.say(f"loaded {TABLE}: {record.counts['rows']} rows, {record.counts['changed']} changed")
    recent = open_lake.files(kept_facts.TABLE, from_time=timezone.now() - timedelta(days=2))
    if len(recent) > MOST_FILES:
        open_lake.compact(kept_facts.TABLE)


def _load(manifest: manifests.Manifest, lease: Lease) -> int:
    changed, served = 0, SERVED[TABLE]
    for rows in run_files.batches(manifest, TABLE):
        with lease.writing():
            Cluster.objects.register_recordings({row["cluster"] for row in rows})
            changed += upsert(served.table, served.model, rows, served.derived)
    with lease.writing():
        reached = {"to_seq": manifest.to_seq[kept_facts.TABLE], "loaded_at": timezone.now()}
        RolledUp.objects.update_or_create(table=kept_facts.TABLE, defaults=reached)
    return changed


def _start(open_lake: Lake) -> int:
    """The commit up to which roll-ups are loaded; 0 if there are none, or if the table was replaced
    afterwards.
    """
    loaded = RolledUp.objects.filter(table=kept_facts.TABLE).values_list("to_seq", flat=True)
    to_seq = loaded.first() or 0
    return to_seq if to_seq <= open_lake.version(kept_facts.TABLE) else 0


def _has_news(open_lake: Lake) -> bool:
    if kept_facts.taken(open_lake).cycle == kept_facts.UNFINISHED:
        return False
    return bool(open_lake.files(kept_facts.TABLE, after_seq=_start(open_lake)))


def _is_behind(open_lake: Lake) -> bool:
    """Whether the last loaded cycle did not append its facts to the lake."""
    last = loader.last_loaded()
    progress = kept_facts.taken(open_lake)
    return (
        last is not None
        and bool(last.path)
        and not kept_facts.is_kept(progress, last)
        and kept_facts.is_next(progress, last)
    )


def _catch_up(open_lake: Lake, record: RunRecord) -> None:
    """Append the facts of the last loaded cycle, if the cycle was killed before it did so."""
    last = loader.last_loaded()
    if last is None or not _is_behind(open_lake):
        return
    try:
        rows = kept_facts.keep(open_lake, manifests.read(last.path))
    except (BadManifest, PreviousLost) as error:
        # The next cycle will meet the same error, and read everything again from the lake.
        record.say(str(error))
    else:
        record.say(f"read {rows} rows of run {last.attempt}, which was killed before it did")
