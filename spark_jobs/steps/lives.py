"""Lives of TaskManagers by cluster, and losses for the jobs there."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.tables import TABLES
from spark_jobs.arrow_schemas import Batches, arrow_schema, batch_from_rows, batch_with, fields_of
from spark_jobs.fold.taskmanager_lives import FAILED, KINDS_OF_END, REGISTERED, lives
from spark_jobs.serving import TASKMANAGER_LIFE
from spark_jobs.step_schemas import EVENT, TASKMANAGER_LOSS, UPDATED_LIFE
from spark_jobs.transforms.grouped_batches import groups

SERVED = arrow_schema(TASKMANAGER_LIFE)
_READ = ("cluster", "ts", "observed_at")
LINE = fields_of(
    EVENT, *_READ, "kind", "container", "host", "reason_text", "path", "to_state", "detail"
)
SAMPLE = fields_of(
    TABLES["taskmanagers"].schema,
    *_READ,
    *("taskmanager_id", "host", "last_heartbeat", "slots", "allocated_slots"),
    *("process_memory_bytes", "heap_max_bytes", "managed_memory_bytes", "network_memory_bytes"),
)
TRACE = fields_of(TABLES["exceptions"].schema, *_READ, "stacktrace", "taskmanager_id")
_KINDS = pa.array([REGISTERED, *KINDS_OF_END])
_LOSS_IN_TRACE = r"no longer reachable|timed out|remote (?:task manager|host)|TaskExecutor"


def line_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        is_end_or_start = pc.and_(pc.is_in(batch["kind"], _KINDS), pc.is_valid(batch["container"]))
        is_failure = pc.and_kleene(
            pc.equal(batch["kind"], FAILED), pc.equal(batch["to_state"], "FAILED")
        )
        names_loss = pc.match_substring_regex(batch["detail"], _LOSS_IN_TRACE)
        yield batch.filter(pc.or_kleene(is_end_or_start, pc.and_kleene(is_failure, names_loss)))


def life_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for group in groups(batches, keys=1):
        names = ("previous", "lines", "samples", "exceptions", "executions")
        rows = lives(*map(group.rows, names))
        yield batch_from_rows(({**row, "cluster": group.key[0]} for row in rows), UPDATED_LIFE)


def served_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    return (batch.filter(batch["changed"]).select(SERVED.names) for batch in batches)


def loss_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        losses = batch.take(pc.list_parent_indices(batch["to_inform"]))
        yield batch_with(
            losses,
            TASKMANAGER_LOSS,
            job_id=pc.list_flatten(batch["to_inform"]),
            ts=losses["ended_at"],
            observed_at=losses["as_of"],
        )
