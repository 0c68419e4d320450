"""Writes known jobs to the file that an audit reads (``JOB_SCHEMA`` of
:mod:`spark_jobs.audit_request`).

A job counts as running unless its end was seen, even if it is no longer reported or listed, or its
cluster is not seen.
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
"""Per job, newest first. What is left out counts as not known to have ended, which deletes less."""
DISCARDS_SINCE = timedelta(days=7)
MOST_TASKS = 2**31
"""Of a vertex of which nobody knows how many it has."""
CLOCKS_APART = timedelta(minutes=1)
"""Between a JobManager and Weir."""
_NEVER_COMPLETED = (*FAILED_OUTCOMES, "aborted")
_MAYBE_WRITTEN = ("FINALIZE_CHECKPOINT_FAILURE", JOB_NOT_LISTED)
"""Of the first Flink itself does not know whether the _metadata was written; of the second nobody
does, and the job may still be writing.
"""
NONE = Q(pk__in=())


def write(target: str, at: datetime, left_out: Q = NONE, *, as_recorded: bool = True) -> int:
    """Writes all jobs but ``left_out`` to the Parquet file ``target`` (a path or URI); returns how
    many. Jobs of removed clusters are not seen. Jobs of recordings have their recorded state if
    ``as_recorded``.
    """
    seen = set(Cluster.objects.values_list("name", flat=True)) - set(
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
                    "seen": job["cluster"] in seen,
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

    Source: Flink's ``CheckpointProperties``. A finished job keeps none; one that failed keeps it
    unless checkpoints are not externalized at all, which REST does not tell from deleting on
    cancel.
    """
    if state == "FINISHED":
        return False
    retained = (checkpoint_config or {}).get("retained_on_cancellation")
    return retained if state == "CANCELED" else (retained or None)


def is_restore_unread(job: Mapping[str, Any]) -> bool:
    """Whether the job may have been restored from a snapshot that Weir did not read. Readings from
    before the last start belong to the earlier run. Without checkpointing, all counts are 0.
    """
    began, counts = job["start_time"], job["flink_counts"]
    if job["restored_at"] is not None and not (began and job["restored_at"] < began):
        return False
    read_at = from_json(counts.get("at")) if counts else None
    if counts is None or (began and read_at and read_at < began):
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
    """Whether its state backend may be ForSt (of Flink 2; if nobody knows the version, too):
    restored without copying, it reads the files of that snapshot where they are.

    Source: Flink's ``DataTransferStrategyBuilder``. Its checkpoints copy them where its database
    lies elsewhere.
    """
    backend = (checkpoint_config or {}).get("state_backend")
    return "forst" in backend.lower() if backend else not version or major(version) != 1


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
    last = 0
    while jobs := list(
        JobCurrent.objects.exclude(left_out)
        .filter(id__gt=last)
        .order_by("id")
        .values(*fields)[:JOBS_AT_ONCE]
    ):
        last = jobs[-1]["id"]
        for job in jobs:
            if not job["terminal"]:
                # For an unlisted job this is when it was last listed, not a seen end.
                job["end_time"] = None
        yield jobs


def _add_redeployed(jobs: Iterable[dict[str, Any]]) -> None:
    """Adds the last start of all tasks, for jobs that may read databases in checkpoint storage. A
    region's restart leaves other tasks running.
    """
    reading = {job["id"]: job for job in jobs if job["reads_restored"] and not job["terminal"]}
    tasks = {
        (reading[pk]["cluster"], reading[pk]["job_id"]): sum(
            vertex.get("parallelism") or MOST_TASKS for vertex in (graph or {}).get("vertices", ())
        )
        for pk, graph in JobCurrent.objects.filter(pk__in=reading).values_list("pk", "graph")
    }
    whole = {
        (cluster, job_id): at
        for cluster, job_id, at, deployed in JobStart.objects.filter(
            cluster__in={job["cluster"] for job in reading.values()},
            job_id__in={job["job_id"] for job in reading.values()},
        )
        .order_by("at")
        .values_list("cluster", "job_id", "at", "tasks")
        if 0 < tasks.get((cluster, job_id), 0) <= deployed
    }
    for job in reading.values():
        job["redeployed_at"] = whole.get((job["cluster"], job["job_id"]))


def _add_checkpoints(jobs: list[dict[str, Any]], at: datetime) -> None:
    """Three queries for all of ``jobs``; facts of a job id on another cluster are fetched too and
    not used.
    """
    ids = [job.pop("id") and job["job_id"] for job in jobs]
    facts = CheckpointFact.objects.filter(job_id__in=ids)
    pending = _by_job(
        facts.filter(Q(outcome="in_progress") | Q(reason=JOB_NOT_LISTED))
        .values("cluster", "job_id")
        .annotate(value=Min("trigger_time"))
    )
    whole = facts.filter(outcome="completed").exclude(is_savepoint=True)
    completed = _by_job(whole.values("cluster", "job_id").annotate(value=Max("end_time")))
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


def _ended_checkpoints(facts: Any, at: datetime) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Checkpoints that never completed or were discarded; a reused id only if all its checkpoints
    are.
    """
    never = Q(outcome__in=_NEVER_COMPLETED) & ~Q(reason__in=_MAYBE_WRITTEN)
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
    jobs_by_place: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in (
        periodic.filter(never | discarded)
        .order_by("cluster", "job_id", "-trigger_time", "-id")
        .values(*fields)
        .iterator(2_000)
    ):
        of_job = jobs_by_place[row["cluster"], row["job_id"]]
        if len(of_job) < MOST_ENDED:
            of_job.append(
                {
                    "checkpoint_id": row["checkpoint_id"],
                    "completed": row["outcome"] == "completed",
                    "discarded": bool(row["discarded"]),
                    "triggered_at": row["trigger_time"],
                    "ended_at": row["end_time"],
                    "reason": row["reason"],
                }
            )
    _without_reused(periodic.exclude(never | discarded), jobs_by_place)
    return jobs_by_place


def _without_reused(
    others: Any, jobs_by_place: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    """A job that restarts under its own id counts from 1 again: the directory may belong to a live
    checkpoint.
    """
    ids = {entry["checkpoint_id"] for entries in jobs_by_place.values() for entry in entries}
    if not ids:
        return
    keys = others.filter(job_id__in={job_id for _cluster, job_id in jobs_by_place}).values_list(
        "cluster", "job_id", "checkpoint_id"
    )
    living = {key for key in keys.iterator(5_000) if key[2] in ids}
    for (cluster, job_id), entries in jobs_by_place.items():
        jobs_by_place[cluster, job_id] = [
            entry for entry in entries if (cluster, job_id, entry["checkpoint_id"]) not in living
        ]
