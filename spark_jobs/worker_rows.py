"""Rows that Spark's Python workers make from Arrow batches: returned to Spark, or written by the
workers, which is several times faster.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from spark_jobs.arrow_schemas import Batches, Make, schema
from spark_jobs.manifest import Output
from spark_jobs.schemas import spark_schema

ROW_GROUP_BYTES = 32 * 1024 * 1024
_FILE = schema(name="text", rows="int")


@dataclass(frozen=True)
class WorkerRows:
    """``make``: batches of ``source_rows`` → batches of ``schema``, called once in each task."""

    source_rows: DataFrame
    make: Make
    schema: pa.Schema

    def frame(self) -> DataFrame:
        return self.source_rows.mapInArrow(self.make, spark_schema(self.schema))

    def write(self, folder: str, unrepeated: Sequence[str] = ()) -> Output:
        """Writes a file for each task with rows; returns names relative to the folder, which is
        absolute or of a scheme for which workers have credentials. Failed tasks may leave more
        files. ``unrepeated``: columns of unique values, which get no dictionary.
        """
        filesystem, path = fsspec.core.url_to_fs(folder)
        filesystem.makedirs(path, exist_ok=True)
        repeated = (
            [name for name in self.schema.names if name not in unrepeated] if unrepeated else True
        )
        options = {
            "compression": "zstd",
            "use_dictionary": repeated,
            "write_page_checksum": True,
            "store_schema": False,
        }
        write = partial(
            write_batches, make=self.make, folder=folder, schema=self.schema, options=options
        )
        files = sorted(self.source_rows.mapInArrow(write, spark_schema(_FILE)).collect())
        return Output(sum(rows for _, rows in files), tuple(name for name, _ in files))

    def write_below(self, directory: str, folder: str) -> Output:
        """Like ``write`` to a folder of a directory; returns names relative to the directory."""
        output = self.write(f"{directory}/{folder}")
        return Output(output.rows, tuple(f"{folder}/{name}" for name in output.files))


def write_batches(
    batches: Batches,
    make: Make,
    folder: str,
    schema: pa.Schema,
    options: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Writes the file of one task, if it has rows; returns its ``_FILE`` row."""
    name = f"part-{uuid.uuid4().hex}.parquet"
    filesystem, path = fsspec.core.url_to_fs(f"{folder}/{name}")
    groups = _row_groups(make(batches), schema)
    if (first := next(groups, None)) is None:
        return
    rows = 0
    try:
        with (
            filesystem.open(path, "wb") as handle,
            pq.ParquetWriter(handle, schema, **options) as writer,
        ):
            for group in chain((first,), groups):
                writer.write_table(group, row_group_size=max(group.num_rows, 1))
                rows += group.num_rows
    except BaseException:
        with suppress(OSError):
            filesystem.rm_file(path)
        raise
    yield pa.RecordBatch.from_pylist([{"name": name, "rows": rows}], _FILE)


def _row_groups(batches: Batches, schema: pa.Schema) -> Iterator[pa.Table]:
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            size += batch.nbytes
        if size >= ROW_GROUP_BYTES:
            yield pa.Table.from_batches(pending, schema)
            pending, size = [], 0
    if pending:
        yield pa.Table.from_batches(pending, schema)
