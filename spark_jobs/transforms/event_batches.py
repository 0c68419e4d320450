import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.batches import filled
from ingest.flink_logs.event_parser import (
    INT_FIELDS,
    LAST_EPOCH_MS,
    READ_FIELDS,
    ParsedMessage,
    Values,
    attempt_of,
    is_savepoint,
    parse_message,
    path_of,
)
from ingest.garbage_collection import without_garbage_collection
from spark_jobs.arrow_schemas import INSTANT, Batches
from spark_jobs.serving import LOG_EVENT_FIELDS
from spark_jobs.step_schemas import EVENT, SERVED_EVENT

RECORD_COLUMNS = (
    "cluster",
    "observed_at",
    "process",
    "ts",
    "level",
    "record_hash",
    "ordinal",
    "file",
    "offset",
)


def event_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Events with the columns that can be filled. Records need ``level`` and ``message``."""
    for batch in batches:
        with without_garbage_collection():
            events = _events_of(batch)
        if events:
            yield events


def served_event_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    return map(with_served, event_batches(batches))


def with_served(events: pa.RecordBatch) -> pa.RecordBatch:
    """``EVENT`` → ``SERVED_EVENT``; missing columns are null."""
    arrays = {name: events.column(name) for name in events.schema.names}
    # The change is null if one of its states is unknown.
    change = pc.binary_join_element_wise(arrays["from_state"], arrays["to_state"], " -> ")
    reason = pc.coalesce(arrays["reason"], change, arrays["to_state"], arrays["from_state"])
    fields = pa.array(_fields(arrays, events.num_rows), pa.string())
    return filled(events, SERVED_EVENT, {"served_reason": reason, "fields": fields})


def _fields(arrays: Mapping[str, pa.Array], rows: int) -> Iterator[str]:
    columns = {
        name: values.to_pylist()
        for name, values in arrays.items()
        if name in LOG_EVENT_FIELDS and values.null_count < rows
    }
    columns["trigger_time"] = _map_distinct(arrays["trigger_time"], _iso, pa.string()).to_pylist()
    names = [name for name in LOG_EVENT_FIELDS if name in columns]
    for values in zip(*(columns[name] for name in names), strict=True):
        present = {
            name: value for name, value in zip(names, values, strict=True) if value is not None
        }
        yield json.dumps(present, separators=(",", ":"), ensure_ascii=False) if present else "{}"


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _events_of(batch: pa.RecordBatch) -> pa.RecordBatch | None:
    levels, messages = batch.column("level").to_pylist(), batch.column("message").to_pylist()
    parsed = [
        None if message is None else parse_message(level, message)
        for level, message in zip(levels, messages, strict=True)
    ]
    events = list(filter(None, parsed))
    if not events:
        return None
    records = batch.select([name for name in batch.schema.names if name in RECORD_COLUMNS])
    if len(events) < batch.num_rows:
        records = records.filter(pa.array([event is not None for event in parsed]))
    columns = {**dict(zip(records.schema.names, records.columns, strict=True)), **_columns(events)}
    names = [name for name in EVENT.names if name in columns]
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names)


def _columns(events: Sequence[ParsedMessage]) -> dict[str, pa.Array]:
    kinds, fields, values, reasons, reason_texts, messages, details = zip(*events, strict=True)
    texts = _fields_read(fields, values)
    integers = {name: texts[name].cast(pa.int64()) for name in INT_FIELDS}
    number = integers.pop("subtask_number")  # counted from 1
    vertex, subtask, attempt = _attempts(texts["execution_id"])
    return {
        **texts,
        **integers,
        "kind": pa.array(kinds, pa.string()),
        "reason": pa.array(reasons, pa.string()),
        "reason_text": pa.array(reason_texts, pa.string()),
        "message": pa.array(messages, pa.string()),
        "detail": pa.array(details, pa.string()),
        "is_savepoint": _map_distinct(texts["checkpoint_type"], is_savepoint, pa.bool_()),
        "trigger_time": _instants(texts["trigger_time"]),
        "path": _map_distinct(texts["path"], path_of, pa.string()),
        "vertex_id": pc.coalesce(vertex, texts["vertex_id"]),
        "subtask": pc.coalesce(
            subtask,
            pc.if_else(pc.greater(number, 0), pc.subtract(number, 1), pa.scalar(None, pa.int64())),
        ),
        "attempt": pc.coalesce(attempt, integers["attempt"]),
    }


def _fields_read(
    fields: Sequence[tuple[str, ...]], values: Sequence[Values]
) -> dict[str, pa.Array]:
    """``READ_FIELDS`` as columns, null where a message has no such field. Messages of the same
    fields share a table, so that the many fields of other messages cost them nothing.
    """
    rows_by_fields = defaultdict(list)
    for row, names in enumerate(fields):
        rows_by_fields[names].append(row)
    tables = [
        pa.table(
            [
                pa.array(rows),
                *(
                    pa.array(column, pa.string())
                    for column in zip(*[values[row] for row in rows], strict=True)
                ),
            ],
            ["row", *names],
        )
        for names, rows in rows_by_fields.items()
    ]
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    table = table.take(pc.sort_indices(table["row"]))
    nothing = pa.nulls(len(values), pa.string())
    return {
        name: table[name].combine_chunks() if name in table.column_names else nothing
        for name in READ_FIELDS
    }


def _instants(epoch_ms: pa.Array) -> pa.Array:
    """Flink logs 0 for no instant."""
    moments = epoch_ms.cast(pa.int64())
    is_instant = pc.and_(pc.greater(moments, 0), pc.less(moments, LAST_EPOCH_MS))
    return pc.if_else(is_instant, moments, None).cast(pa.timestamp("ms", "UTC")).cast(INSTANT)


def _attempts(execution_ids: pa.Array) -> tuple[pa.Array, ...]:
    distinct = execution_ids.dictionary_encode()
    attempts = [attempt_of(text) or (None, None, None) for text in distinct.dictionary.to_pylist()]
    kinds = (pa.string(), pa.int64(), pa.int64())
    return tuple(
        pa.array([parts[index] for parts in attempts], kind).take(distinct.indices)
        for index, kind in enumerate(kinds)
    )


def _map_distinct(values: pa.Array, function: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    distinct = values.dictionary_encode()
    results = [function(value) for value in distinct.dictionary.to_pylist()]
    return pa.array(results, kind).take(distinct.indices)
