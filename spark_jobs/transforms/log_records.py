from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from ingest.flink_logs.files import LogFile
from ingest.flink_logs.layouts import FLINK, Layout, zone_of
from ingest.flink_logs.record_splitter import Keep
from spark_jobs.transforms.log_blocks import BLOCK_BYTES, RECORDS, Block, record_batches, shares
from spark_jobs.worker_rows import WorkerRows


def by_block(
    session: SparkSession,
    files: Iterable[LogFile],
    layout: Layout = FLINK,
    time_zone: str = "UTC",
    keep: Keep = "events",
    block_bytes: int = BLOCK_BYTES,
) -> WorkerRows:
    blocks = shares(files, block_bytes)
    read_shares = partial(
        _read_shares, shares=blocks, layout=layout, time_zone=time_zone, keep=keep
    )
    return WorkerRows(session.range(0, len(blocks), 1, max(len(blocks), 1)), read_shares, RECORDS)


def _read_shares(
    numbers: Iterable[pa.RecordBatch],
    shares: Sequence[Sequence[Block]],
    layout: Layout,
    time_zone: str,
    keep: Keep,
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from record_batches(shares[number], layout, zone_of(time_zone, layout), keep)


def numbered(rows: DataFrame) -> DataFrame:
    """Numbers equal records of a file from 0, in any order."""
    equal_records = Window.partitionBy("file", "ts", "record_hash").orderBy("process")
    return rows.withColumn("ordinal", F.row_number().over(equal_records).cast("long") - 1)
