"""Writes known jobs to the file that an audit reads (``JOB_SCHEMA`` of
:mod:`spark_jobs.audit_request`).

A job counts as running until its end was seen, even if Flink no longer lists it or its cluster
cannot be seen.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from django.db.models import Max, Min, Q

from ingest.flink_rest.versions import major
from spark_jobs.audit_request import JOB_SCHEMA
from spark_jobs.diagnosis.checkpoint_reasons import JOB_NOT_LISTED
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobCurrent, JobStart
from webapp.lib.instants import from_json

JOBS_AT_ONCE = 200
MOST_ENDED = 1_000
"""Newest ended checkpoints of a job. Older ones count as not ended, so less is deleted."""
DISCARDS_SINCE = timedelta(days=7)
MOST_TASKS = 2**31
"""Stands for the unknown parallelism of a vertex."""
CLOCKS_APART = timedelta(minutes=1)
"""Normal difference between the clocks of a JobManager and Weir."""
_NEVER_COMPLETED = (*FAILED_OUTCOMES, "aborted")
_MAYBE_WRITTEN = ("FINALIZE_CHECKPOINT_FAILURE", JOB_NOT_LISTED)
"""Reasons that leave open whether the ``_metadata`` was written. With the first reason, Flink itself
does not know; with the second, the job may still be writing.
"""
NO_JOBS = Q(pk__in=())
_Ended = dict[tuple[str, str], list[dict[str, Any]]]
"""(cluster, job id) → rows of ``checkpoints_ended``."""


def write(target: str, at: datetime, left_out: Q = NO_JOBS, *, as_recorded: bool = True) -> int:
    """Writes all jobs except ``left_out`` to the Parquet file ``target`` (a path or URI); returns
    their number. Jobs of removed clusters count as not seen. Jobs of recordings have their recorded
    state if ``as_recorded``, else they count as live.
    """
    seen_clusters = set(Cluster.objects.values_list("name", flat=True)) - set(
        Cluster.objects.unseen(at).values_list("name", flat=True)
    )
    recordings = Cluster.objects.filter(kind=ClusterKind.RECORDING)
    recorded = set() if as_recorded else set(recordings.values_list("name", flat=True))
    count = 0
    with fsspec.open(target, "wb") as file, pq.ParquetWriter(file, JOB_SCHEMA) as writer:
        for jobs in _chunks(left_out):
            rows = [
                {
                    **job,
                    "started_at": job["start_time"],
                    "ended_at": job["end_time"],
                    "terminal": bool(job["terminal"]),
                    "restore_unread": is_restore_unread(job),
                    "completed_unread": is_completed_unread(job),
                    "reads_restored": reads_restored(
                        job["checkpoint_config"], job["flink_version"]
                    ),
                    "seen": job["cluster"] in seen_clusters,
                    "recorded": job["cluster"] in recorded,
                    "keeps_last": keeps_last(job["state"], job["checkpoint_config"]),
                }
                for job in jobs
            ]
            _add_redeployed(rows)
            _add_checkpoints(rows, at)
            writer.write_table(pa.Table.from_pylist(rows, JOB_SCHEMA))
            count += len(rows)
    return count


def keeps_last(state: str | None, checkpoint_config: dict[str, Any] | None) -> bool | None:
    """Whether Flink retains the last checkpoint of a job that ended in ``state``; None: unknown.
    Source: Flink's ``CheckpointProperties``. The checkpoint of a failed job is retained if
    checkpoints are externalized, which is certain only if they are retained on cancellation.
    """
    if state == "FINISHED":
        return False
    retained = (checkpoint_config or {}).get("retained_on_cancellation")
    return retained if state == "CANCELED" else (retained or None)


def is_restore_unread(job: Mapping[str, Any]) -> bool:
    """Whether the job may have been restored from a snapshot that Weir did not read. Restores and
    counts from before ``start_time`` belong to the earlier run. Without checkpointing, counts are 0.
    """
    started_at, counts = job["start_time"], job["flink_counts"]
    if job["restored_at"] is not None and not (started_at and job["restored_at"] < started_at):
        return False
    read_at = from_json(counts.get("at")) if counts else None
    if counts is None or (started_at and read_at and read_at < started_at):
        return True
    return bool(counts.get("restored"))


def is_completed_unread(job: Mapping[str, Any]) -> bool:
    """Whether the job may have completed checkpoints after the last one read."""
    read_at = from_json(job["flink_counts"].get("at")) if job["flink_counts"] else None
    if read_at is None:
        return job["last_completed_at"] is None
    over_at = job["end_time"] or job["start_time"]
    return bool(over_at and read_at < over_at - CLOCKS_APART)


def reads_restored(checkpoint_config: dict[str, Any] | None, version: str | None) -> bool:
    """Whether the job's state backend may be ForSt (since Flink 2): it may read the files of the
    snapshot from which it was restored, where they are, instead of copying them.

    Source: Flink's ``DataTransferStrategyBuilder``.
    """
    backend = (checkpoint_config or {}).get("state_backend")
    if backend:
        return "forst" in backend.lower()
    return not version or major(version) != 1


def _chunks(left_out: Q) -> Iterator[list[dict[str, Any]]]:
    fields = (
        "id",
        "cluster",
        "job_id",
        "name",
        "state",
        "start_time",
        "end_time",
        "flink_version",
        "flink_counts",
        "terminal",
        "restored_path",
        "restored_is_savepoint",
        "restored_at",
        "last_completed_id",
        "last_completed_at",
        "last_completed_path",
        "checkpoint_config",
    )
    last_id = 0
    while jobs := list(
        JobCurrent.objects.exclude(left_out)
        .filter(id__gt=last_id)
        .order_by("id")
        .values(*fields)[:JOBS_AT_ONCE]
    ):
        last_id = jobs[-1]["id"]
        for job in jobs:
            if not job["terminal"]:
                # For an unlisted job, end_time is when it was last listed, not its end.
                job["end_time"] = None
        yield jobs


def _add_redeployed(jobs: Iterable[dict[str, Any]]) -> None:
    """Adds ``redeployed_at`` to running jobs that may read restored files: when all their tasks last
    started together. After the restart of one region, the other tasks still read these files.
    """
    running = {job["id"]: job for job in jobs if job["reads_restored"] and not job["terminal"]}
    tasks: dict[tuple[str, str], int] = {}
    for pk, graph in JobCurrent.objects.filter(pk__in=running).values_list("pk", "graph"):
        tasks[running[pk]["cluster"], running[pk]["job_id"]] = sum(
            vertex.get("parallelism") or MOST_TASKS for vertex in (graph or {}).get("vertices", ())
        )
    starts = JobStart.objects.filter(
        cluster__in={job["cluster"] for job in running.values()},
        job_id__in={job["job_id"] for job in running.values()},
    ).order_by("at")
    redeployed_at = {
        (cluster, job_id): at
        for cluster, job_id, at, deployed in starts.values_list("cluster", "job_id", "at", "tasks")
        if 0 < tasks.get((cluster, job_id), 0) <= deployed
    }
    for job in running.values():
        job["redeployed_at"] = redeployed_at.get((job["cluster"], job["job_id"]))


def _add_checkpoints(jobs: list[dict[str, Any]], at: datetime) -> None:
    """Adds facts of checkpoints with four queries. Facts of the same job id on another cluster are
    not used.
    """
    for job in jobs:
        del job["id"]
    facts = CheckpointFact.objects.filter(job_id__in=[job["job_id"] for job in jobs])
    pending = _by_job(
        facts.filter(Q(outcome="in_progress") | Q(reason=JOB_NOT_LISTED))
        .values("cluster", "job_id")
        .annotate(value=Min("trigger_time"))
    )
    complete = facts.filter(outcome="completed").exclude(is_savepoint=True)
    completed = _by_job(complete.values("cluster", "job_id").annotate(value=Max("end_time")))
    ended = _ended_checkpoints(facts, at)
    for job in jobs:
        key = job["cluster"], job["job_id"]
        job["in_flight_since"] = pending.get(key)
        job["last_completed_at"] = max(
            filter(None, (job["last_completed_at"], completed.get(key))), default=None
        )
        job["checkpoints_ended"] = ended.get(key, [])


def _by_job(rows: Iterable[Any]) -> dict[tuple[str, str], datetime]:
    return {(row["cluster"], row["job_id"]): row["value"] for row in rows}


def _ended_checkpoints(facts: Any, at: datetime) -> _Ended:
    """Checkpoints that never completed or were discarded. An id of several checkpoints is contained
    only if all have ended.
    """
    failed = Q(outcome__in=_NEVER_COMPLETED) & ~Q(reason__in=_MAYBE_WRITTEN)
    discarded = Q(outcome="completed", discarded=True, trigger_time__gte=at - DISCARDS_SINCE)
    periodic = facts.filter(Q(is_savepoint=False) | Q(is_savepoint__isnull=True))
    fields = (
        "cluster",
        "job_id",
        "checkpoint_id",
        "outcome",
        "discarded",
        "trigger_time",
        "end_time",
        "reason",
    )
    ended: _Ended = defaultdict(list)
    for row in (
        periodic.filter(failed | discarded)
        .order_by("cluster", "job_id", "-trigger_time", "-id")
        .values(*fields)
        .iterator(2_000)
    ):
        ended_of_job = ended[row["cluster"], row["job_id"]]
        if len(ended_of_job) < MOST_ENDED:
            ended_of_job.append(
                {
                    "checkpoint_id": row["checkpoint_id"],
                    "completed": row["outcome"] == "completed",
                    "discarded": bool(row["discarded"]),
                    "triggered_at": row["trigger_time"],
                    "ended_at": row["end_time"],
                    "reason": row["reason"],
                }
            )
    _remove_reused_ids(periodic.exclude(failed | discarded), ended)
    return ended


def _remove_reused_ids(live_facts: Any, ended: _Ended) -> None:
    """A job that starts again with the same id counts checkpoints from 1 again: the directory of an
    ended checkpoint may belong to a live checkpoint.
    """
    ids = {entry["checkpoint_id"] for entries in ended.values() for entry in entries}
    if not ids:
        return
    keys = live_facts.filter(job_id__in={job_id for _cluster, job_id in ended}).values_list(
        "cluster", "job_id", "checkpoint_id"
    )
    live_keys = {key for key in keys.iterator(5_000) if key[2] in ids}
    for (cluster, job_id), entries in ended.items():
        ended[cluster, job_id] = [
            entry for entry in entries if (cluster, job_id, entry["checkpoint_id"]) not in live_keys
        ]
