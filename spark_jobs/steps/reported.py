"""Rows of the lake in the columns of serving tables or of the fold, with duplicates."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.traces import shortened
from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.serving import JOB_EXCEPTION, SKIPPED_INPUT
from spark_jobs.step_schemas import SNAPSHOT, TASKMANAGER
from spark_jobs.transforms.event_batches import served_event_batches

STACKTRACE_CHARS = 16 * 1024
UNNAMED = "unknown"
EXCEPTION = arrow_schema(JOB_EXCEPTION)
SKIP = pa.schema([*arrow_schema(SKIPPED_INPUT), ("job_id", pa.string())])

Batches = Iterable[pa.RecordBatch]
Wanted = Sequence[tuple[str, str, Sequence[str]]]
"""Cluster, job and keys (:mod:`spark_jobs.fold.wanted_snapshots`)."""

_READ_BY_NOBODY = ""


def exception_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """``task_key`` is "" for a global failure."""
    for rows in batches:
        traces = [
            trace and shortened(trace, STACKTRACE_CHARS) for trace in rows["stacktrace"].to_pylist()
        ]
        yield _with(
            rows,
            EXCEPTION,
            task_key=pc.fill_null(rows["task"], ""),
            exception_name=pc.fill_null(rows["exception_name"], UNNAMED),
            stacktrace=pa.array(traces, pa.string()),
            # The last colon: IPv6 hosts hold colons of their own.
            host=pc.replace_substring_regex(rows["endpoint"], r":[^:\]]*$", ""),
            as_of=rows["observed_at"],
        )


def skip_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for rows in batches:
        yield _with(
            rows, SKIP, as_of=rows["observed_at"], job_id=pa.nulls(rows.num_rows, pa.string())
        )


def taskmanager_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """One for each job with slots there; none before 1.13, which does not report the jobs."""
    for rows in batches:
        slots = (
            dict.fromkeys(slot["job_id"] for slot in allocated or ())
            for allocated in rows["allocated_slots"].to_pylist()
        )
        brought = [(place, job_id) for place, jobs in enumerate(slots) for job_id in jobs]
        yield _with(
            _take_new(rows, brought),
            TASKMANAGER,
            job_id=pa.array([job_id for _, job_id in brought], pa.string()),
        )


def snapshot_batches(batches: Batches, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """One for each job that needs it. A row of an audit has no cluster, which is unknown where the
    file is read, so it matches any.
    """
    by_key: dict[str, list[tuple[str, str]]] = {}
    for cluster, job_id, keys in wanted:
        for key in keys:
            by_key.setdefault(key, []).append((cluster, job_id))
    for rows in batches:
        brought = []
        names = zip(
            *(rows[name].to_pylist() for name in ("metadata_path", "job_id", "cluster")),
            strict=True,
        )
        for place, (path, owner, read_by) in enumerate(names):
            directory = (path or "").removesuffix("/_metadata")
            of_file = (
                {owner, directory, directory.rpartition("/")[0]} if path is not None else set()
            )
            jobs = {
                job
                for key in of_file
                for job in by_key.get(key, ())
                if read_by in (_READ_BY_NOBODY, job[0])
            }
            brought += [(place, *job) for job in jobs]
        taken = _take_new(rows, brought)
        clusters, jobs_of = (
            pa.array([pair[part] for pair in brought], pa.string()) for part in (1, 2)
        )
        yield _with(taken, SNAPSHOT, cluster=clusters, job_id=jobs_of, owner_id=taken["job_id"])


def checkpoint_event_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for events in served_event_batches(
        batch.filter(pc.match_substring(batch["message"], "heckpoint")) for batch in batches
    ):
        yield events.filter(pc.is_in(events["kind"], pa.array(KINDS_OF_CHECKPOINT)))


def _take_new(rows: pa.RecordBatch, brought: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    return rows.take(pa.array([pair[0] for pair in brought], pa.int64()))


def _with(rows: pa.RecordBatch, schema: pa.Schema, **made: pa.Array) -> pa.RecordBatch:
    columns = [made[name] if name in made else rows[name] for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
