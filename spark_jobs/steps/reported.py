"""Rows of the lake → columns of serving tables or of the fold. Duplicates are kept."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ingest.traces import shortened
from spark_jobs.arrow_schemas import Batches, arrow_schema, batch_with, schema
from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.serving import JOB_EXCEPTION, SKIPPED_INPUT
from spark_jobs.step_schemas import SNAPSHOT, TASKMANAGER
from spark_jobs.transforms.event_batches import served_event_batches

STACKTRACE_CHARS = 16 * 1024
UNNAMED = "unknown"
EXCEPTION = arrow_schema(JOB_EXCEPTION)
SKIP = schema(*arrow_schema(SKIPPED_INPUT), job_id="text")

Wanted = Sequence[tuple[str, str, Sequence[str]]]
"""(cluster, job, keys of snapshots that the job needs: ``spark_jobs.fold.wanted_snapshots``)."""

_ANY_CLUSTER = ""
"""An audit does not know the cluster of a ``_metadata`` that it reads."""


def exception_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """``task_key`` is "" for a global failure."""
    for rows in batches:
        traces = [
            trace and shortened(trace, STACKTRACE_CHARS) for trace in rows["stacktrace"].to_pylist()
        ]
        yield batch_with(
            rows,
            EXCEPTION,
            task_key=pc.fill_null(rows["task"], ""),
            exception_name=pc.fill_null(rows["exception_name"], UNNAMED),
            stacktrace=pa.array(traces, pa.string()),
            # Removes the port: only the last colon begins it, since IPv6 hosts contain colons.
            host=pc.replace_substring_regex(rows["endpoint"], r":[^:\]]*$", ""),
            as_of=rows["observed_at"],
        )


def skip_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for rows in batches:
        yield batch_with(
            rows, SKIP, as_of=rows["observed_at"], job_id=pa.nulls(rows.num_rows, pa.string())
        )


def taskmanager_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """A row for each job with slots on the TaskManager; Flink reports slots since 1.13."""
    for rows in batches:
        jobs_of_rows = (
            dict.fromkeys(slot["job_id"] for slot in slots or ())
            for slots in rows["allocated_slots"].to_pylist()
        )
        pairs = [(index, job_id) for index, jobs in enumerate(jobs_of_rows) for job_id in jobs]
        yield batch_with(
            _take(rows, [index for index, _ in pairs]),
            TASKMANAGER,
            job_id=pa.array([job_id for _, job_id in pairs], pa.string()),
        )


def snapshot_batches(batches: Batches, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    by_key: dict[str, list[tuple[str, str]]] = {}
    for cluster, job_id, keys in wanted:
        for key in keys:
            by_key.setdefault(key, []).append((cluster, job_id))
    for rows in batches:
        matches: list[tuple[int, str, str]] = []
        columns = (rows[name].to_pylist() for name in ("metadata_path", "job_id", "cluster"))
        for index, (path, owner, read_by) in enumerate(zip(*columns, strict=True)):
            if path is None:
                continue
            directory = path.removesuffix("/_metadata")
            jobs = {
                (cluster, job_id)
                for key in {owner, directory, directory.rpartition("/")[0]}
                for cluster, job_id in by_key.get(key, ())
                if read_by in (_ANY_CLUSTER, cluster)
            }
            matches += ((index, *job) for job in jobs)
        snapshots = _take(rows, [index for index, *_ in matches])
        yield batch_with(
            snapshots,
            SNAPSHOT,
            cluster=pa.array([cluster for _, cluster, _ in matches], pa.string()),
            job_id=pa.array([job_id for *_, job_id in matches], pa.string()),
            owner_id=snapshots["job_id"],
        )


def checkpoint_event_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for events in served_event_batches(
        batch.filter(pc.match_substring(batch["message"], "heckpoint")) for batch in batches
    ):
        yield events.filter(pc.is_in(events["kind"], pa.array(KINDS_OF_CHECKPOINT)))


def _take(rows: pa.RecordBatch, indexes: Sequence[int]) -> pa.RecordBatch:
    return rows.take(pa.array(indexes, pa.int64()))
