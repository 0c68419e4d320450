"""One Spark cycle: new rows of the lake since the last loaded run, through Spark, into the
database.

1. A complete run that was never loaded (its process was killed in between) is loaded first.
2. Without new rows in the lake, the cycle ends without starting Spark.
3. The job, with Spark if there are many rows, writes its tables and finally a manifest, without
   which the run is void.
4. The manifest is loaded; unneeded run directories are removed.
5. After a failed or killed attempt, the next attempts process the backlog in slices, the oldest
   commits first, without Spark. Lost or damaged run directories are rebuilt from the lake.
"""

import json
import logging
from datetime import datetime, timedelta

import fsspec
from django.conf import settings
from django.utils import timezone

from spark_jobs.manifest import BadManifest
from webapp.findings import overrides
from webapp.pipeline import loader
from webapp.pipeline.loader import OutOfOrder
from webapp.storage import recovery
from webapp.work import lake, run_dirs, run_files, spark_job
from webapp.work.keys import CYCLE
from webapp.work.lease import Lease
from webapp.work.models import Manifest, PipelineRun
from webapp.work.runs import RunRecord, describe, new_attempt
from webapp.work.spark_job import PreviousLost

ROUTINE_WAITS = timedelta(seconds=30)
"""Routine commits (:mod:`ingest.lake.news`) wait for this long after a load."""

SLICES_FOR = timedelta(minutes=10)
"""Slices follow a failed attempt for so long, or for twice its duration if that is longer: another
attempt with Spark would cost as much again.
"""

LEFT = "left"
"""Key of the number of commits that a cycle in slices did not reach."""

logger = logging.getLogger(__name__)


class LakeRewound(Exception):
    """The lake has fewer commits than were loaded: it was replaced, or files were lost."""


def has_work(now: datetime, *, routine_too: bool = False) -> bool:
    """Whether a cycle should run now; cheap enough for a call every few seconds.

    ``routine_too``: commits without news do not wait.
    """
    if Manifest.objects.exclude(state=Manifest.State.LOADED).exists():
        return True
    last = loader.last_loaded()
    if lake.is_at(last.to_seq if last else {}):
        return False
    new_commits = _new_commits()
    if not new_commits or last is None or last.loaded_at is None or routine_too:
        return bool(new_commits)
    is_early = timedelta() <= now - last.loaded_at < ROUTINE_WAITS
    return not is_early or lake.has_news(last.to_seq, new_commits)


def left_some() -> bool:
    """Whether the last cycle did not process the whole backlog."""
    last = PipelineRun.objects.filter(key=CYCLE).order_by("-id").first()
    return last is not None and bool(last.counts.get(LEFT))


def _takes_slices(record: RunRecord) -> bool:
    failed = PipelineRun.objects.filter(
        key=record.row.key, state__in=(PipelineRun.State.FAILED, PipelineRun.State.ABANDONED)
    )
    last = failed.order_by("-id").first()
    if last is None or last.finished_at is None:
        return False
    duration = last.finished_at - last.started_at
    return timedelta() <= timezone.now() - last.finished_at < max(SLICES_FOR, 2 * duration)


def run_cycle(lease: Lease, record: RunRecord) -> bool:
    """Run one cycle under the lease; returns whether there was anything to do."""
    resumed = _load_pending(lease, record)
    new_commits = _new_commits()
    if not new_commits:
        return resumed
    record.say(
        "new in the lake: "
        + ", ".join(f"{table} {count}" for table, count in new_commits.items())
        + " commits"
    )
    newest = lake.commits()
    try:
        path = _run_spark(record, newest)
    except PreviousLost as error:
        _start_over(error, lease, record)
        path = _run_spark(record, newest)
    _load(path, record.row, lease, record)
    loaded = loader.loaded_commits()
    if left := sum(seq - loaded.get(table, 0) for table, seq in newest.items()):
        record.counts[LEFT] = left
    _tidy(record)
    return True


def _start_over(error: PreviousLost, lease: Lease, record: RunRecord) -> None:
    record.say(f"{error} Everything is read again from the lake.")
    logger.warning("%s Everything is read again from the lake.", error)
    attempt = new_attempt("start", timezone.now())
    with lease.writing():
        loader.start_over(attempt, str(error), known=loader.loaded_commits())
    record.counts["restarted"] = "from the lake"


def _tidy(record: RunRecord) -> None:
    try:
        removed = run_dirs.tidy(settings.WEIR.keep_runs)
    except OSError as error:
        record.say(
            "Old run directories could not be removed, the next cycle tries again: "
            f"{describe(error)}"
        )
        return
    if removed:
        record.say(f"removed {removed} old run directories")


def _new_commits() -> dict[str, int]:
    """Lake table → number of commits that are not loaded, if there are any."""
    loaded = loader.loaded_commits()
    newest = lake.commits()
    rewound = [table for table, seq in newest.items() if seq < loaded.get(table, 0)]
    if rewound:
        raise LakeRewound(
            f"The lake at {settings.WEIR.lake_root} has fewer commits than were loaded "
            f"({', '.join(rewound)}); if it was replaced "
            "on purpose, run manage.py run_pipeline --from-start."
        )
    return {
        table: seq - loaded.get(table, 0)
        for table, seq in newest.items()
        if seq > loaded.get(table, 0)
    }


def _run_spark(record: RunRecord, newest: dict[str, int]) -> str:
    """Run the job; returns the path of its manifest. Raises :class:`SparkFailed`."""
    run_dir = run_dirs.of(record.row)
    last = loader.last_loaded()
    options = {"to": json.dumps(newest), "request": _write_request(run_dir)}
    if last and last.path:
        options |= {"previous": last.path, "previous_to": json.dumps(last.to_seq)}
    if _takes_slices(record):
        options["oldest_first"] = "yes"
    return spark_job.run_on_lake("cycle", run_dir, record, **options)


def _write_request(run_dir: str) -> str:
    path = f"{run_dir}/request.json"
    request = {"thresholds": overrides.as_plain(), "recovery_points": recovery.recovery_points()}
    with fsspec.open(path, "wb") as file:
        file.write(json.dumps(request, indent=1).encode())
    return path


def _load(path: str, run: PipelineRun | None, lease: Lease, record: RunRecord) -> None:
    manifest = run_files.read_manifest(path, run.attempt if run else None)
    row = loader.accept(manifest, path, run, lease)
    changed = loader.load(row, manifest, lease, record.say)
    rows = {name: output.rows for name, output in manifest.tables.items()}
    record.counts |= {"rows": rows, "changed": changed, "to": row.to_seq}


def _load_pending(lease: Lease, record: RunRecord) -> bool:
    row = Manifest.objects.exclude(state=Manifest.State.LOADED).order_by("id").first()
    if row is not None:
        record.say(f"run {row.attempt} is complete and not loaded yet")
        try:
            manifest = run_files.read_manifest(row.path, row.attempt)
            changed = loader.load(row, manifest, lease, record.say)
        except BadManifest as error:
            _drop(row, error, lease, record)
            return False
        record.counts |= {"resumed": row.attempt, "changed": changed}
        return True
    return _adopt(lease, record)


def _drop(row: Manifest, error: BadManifest, lease: Lease, record: RunRecord) -> None:
    record.say(f"{error} It is dropped; its commits are read again.")
    logger.warning("Run %s is dropped, its commits are read again: %s", row.attempt, error)
    with lease.writing():
        row.delete()


def _adopt(lease: Lease, record: RunRecord) -> bool:
    """Load a run whose process was killed between writing its manifest and accepting it."""
    last = loader.last_loaded()
    since = last.run_id if last and last.run_id else 0
    later = PipelineRun.objects.filter(
        key=lease.key, pk__gt=since, pk__lt=record.row.pk, manifest_path__isnull=False
    )
    for run in later.exclude(state=PipelineRun.State.DONE).order_by("-id")[:3]:
        try:
            _load(run.manifest_path or "", run, lease, record)
        except OutOfOrder:
            continue
        except BadManifest as error:
            for accepted in Manifest.objects.filter(attempt=run.attempt).exclude(
                state=Manifest.State.LOADED
            ):
                _drop(accepted, error, lease, record)
            continue
        record.say(f"run {run.attempt} was complete although its process had ended; it is loaded")
        return True
    return False
