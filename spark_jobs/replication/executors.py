"""Copies the batches of a round on the executors of a Spark session."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.replication.copying import Batch, Failure, copy_batch
from spark_jobs.replication.plan import Entry
from spark_jobs.replication.request import Request
from spark_jobs.schemas import spark_schema

MOST_TASKS = 4_000

_ENTRY = pa.struct(
    [
        ("path", pa.string()),
        ("name", pa.string()),
        ("bytes", pa.int64()),
        ("whole", pa.bool_()),
        ("kept", pa.bool_()),
    ]
)
_BATCH = pa.schema([("entries", pa.list_(_ENTRY))])
_FAILURE = pa.schema([("path", pa.string()), ("why", pa.string()), ("gone", pa.bool_())])


def on_executors(
    session: SparkSession, request: Request, round_: int, batches: Sequence[Batch]
) -> list[Failure]:
    rows = [
        {"entries": [{name: getattr(entry, name) for name in Entry.__slots__} for entry in batch]}
        for batch in batches
    ]
    frame = session.createDataFrame(pa.Table.from_pylist(rows, _BATCH))
    copied = frame.repartition(min(len(rows), MOST_TASKS)).mapInArrow(
        partial(_copy, request=request.text(), round_=round_), spark_schema(_FAILURE)
    )
    return [Failure(**row) for row in copied.toArrow().to_pylist()]


def _copy(batches: Iterator[pa.RecordBatch], request: str, round_: int) -> Iterator[pa.RecordBatch]:
    for rows in batches:
        for row in rows.to_pylist():
            failures = copy_batch(
                Request.of(request), round_, [Entry(**entry) for entry in row["entries"]]
            )
            yield pa.RecordBatch.from_pylist(
                [
                    {"path": failure.path, "why": failure.why, "gone": failure.gone}
                    for failure in failures
                ],
                _FAILURE,
            )
