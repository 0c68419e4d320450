"""Lives of TaskManagers by cluster, and losses for the jobs there."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.tables import TABLES
from spark_jobs.arrow_schemas import arrow_schema, batch_from_rows, in_microseconds
from spark_jobs.fold.taskmanager_lives import FAILED, KINDS_OF_END, REGISTERED, lives
from spark_jobs.serving import TASKMANAGER_LIFE
from spark_jobs.step_schemas import EVENT, TASKMANAGER_LOSS, UPDATED_LIFE
from spark_jobs.transforms.grouped_batches import groups

SERVED = arrow_schema(TASKMANAGER_LIFE)
LINE = pa.schema(
    [
        EVENT.field(name)
        for name in (
            *("cluster", "ts", "observed_at", "kind", "container", "host", "reason_text", "path"),
            *("to_state", "detail"),
        )
    ]
)


def _columns(table: str, *names: str) -> pa.Schema:
    schema = TABLES[table].schema
    return pa.schema([(name, in_microseconds(schema.field(name).type)) for name in names])


SAMPLE = _columns(
    "taskmanagers",
    *("cluster", "taskmanager_id", "ts", "observed_at", "host", "last_heartbeat", "slots"),
    *("process_memory_bytes", "heap_max_bytes", "managed_memory_bytes", "network_memory_bytes"),
    "allocated_slots",
)
TRACE = _columns("exceptions", "cluster", "ts", "observed_at", "stacktrace", "taskmanager_id")
_KINDS = pa.array([REGISTERED, *KINDS_OF_END])
_LOSS_IN_TRACE = r"no longer reachable|timed out|remote (?:task manager|host)|TaskExecutor"

Batches = Iterable[pa.RecordBatch]


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
        new_columns = {
            "job_id": pc.list_flatten(batch["to_inform"]),
            "ts": losses["ended_at"],
            "observed_at": losses["as_of"],
        }
        yield pa.RecordBatch.from_arrays(
            [
                new_columns[name] if name in new_columns else losses[name]
                for name in TASKMANAGER_LOSS.names
            ],
            schema=TASKMANAGER_LOSS,
        )
