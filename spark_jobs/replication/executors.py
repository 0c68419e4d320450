import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.arrow_schemas import schema
from spark_jobs.replication.copying import Batch, Failure, copy_batch
from spark_jobs.replication.plan import Entry
from spark_jobs.replication.request import Request
from spark_jobs.schemas import spark_schema

MOST_TASKS = 4_000

_BATCH = schema(entries="text")
_FAILURE = schema(path="text", why="text", gone="flag")


def on_executors(
    session: SparkSession, request: Request, round_: int, batches: Sequence[Batch]
) -> list[Failure]:
    rows = [{"entries": json.dumps([astuple(entry) for entry in batch])} for batch in batches]
    frame = session.createDataFrame(pa.Table.from_pylist(rows, _BATCH))
    copied = frame.repartition(min(len(rows), MOST_TASKS)).mapInArrow(
        partial(_copy, request=request.text(), round_=round_), spark_schema(_FAILURE)
    )
    return [Failure(**row) for row in copied.toArrow().to_pylist()]


def _copy(batches: Iterator[pa.RecordBatch], request: str, round_: int) -> Iterator[pa.RecordBatch]:
    for rows in batches:
        for entries in rows["entries"].to_pylist():
            batch = [Entry(*entry) for entry in json.loads(entries)]
            failures = copy_batch(Request.of(request), round_, batch)
            yield pa.RecordBatch.from_pylist([asdict(failure) for failure in failures], _FAILURE)
