"""Steps of an audit in Spark's Python workers: batches of a partition in, files out."""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.parquet_stream import ParquetStream
from spark_jobs.storage.audit import Step

ROW_GROUP_ROWS = 100_000
UNREPEATED = ("path", "listed_path")
MADE = pa.schema(
    [("part", pa.string()), ("task", pa.string()), ("file", pa.string()), ("rows", pa.int64())]
)

PartsOf = Callable[[Iterable[pa.RecordBatch]], Iterator[dict[str, pa.Table]]]
"""Makes tables of the batches of one partition, for one call of a step or for several."""


def worked(
    batches: Iterable[pa.RecordBatch],
    parts_of: PartsOf,
    step: Step,
    known: Mapping[str, str],
    folders: Mapping[str, str],
    schemas: Mapping[str, pa.Schema],
) -> Iterator[pa.RecordBatch]:
    """``MADE``. Files of a task that failed and was run again lie beside the others, and nobody
    knows of them.
    """
    tables: dict[str, pa.Table] | None = None
    for parts in parts_of(batches):
        tables = tables or {name: read(file, None) for name, file in known.items()}
        task = uuid.uuid4().hex
        for name, rows in step(parts, tables).items():
            if rows.num_rows:
                file = write(rows.cast(schemas[name]), f"{folders[name]}/part-{task}.parquet")
                yield pa.RecordBatch.from_pylist(
                    [{"part": name, "task": task, "file": file, "rows": rows.num_rows}], MADE
                )


def rows_of_parts(
    batches: Iterable[pa.RecordBatch], schemas: Mapping[str, pa.Schema]
) -> Iterator[dict[str, pa.Table]]:
    """All rows of the partition at once."""
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    rows = pa.Table.from_batches(held)
    held.clear()
    part = rows.column("_part")
    yield {
        name: rows.filter(pc.equal(part, number)).select(schema.names).combine_chunks()
        for number, (name, schema) in enumerate(schemas.items())
    }


def files_of_tasks(
    batches: Iterable[pa.RecordBatch], tasks: str, schemas: Mapping[str, pa.Schema]
) -> Iterator[dict[str, pa.Table]]:
    """What each task wrote, one after the other."""
    of_tasks = json.loads(tasks)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            files = of_tasks[number]
            yield {
                name: pa.concat_tables(
                    [schema.empty_table(), *(read(file, schema) for file in files.get(name, ()))]
                )
                for name, schema in schemas.items()
            }


def write(rows: pa.Table, file: str) -> str:
    filesystem, path = fsspec.core.url_to_fs(file)
    filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
    repeated = [name for name in rows.column_names if name not in UNREPEATED]
    with filesystem.open(path, "wb") as handle:
        pq.write_table(
            rows,
            handle,
            row_group_size=ROW_GROUP_ROWS,
            compression="zstd",
            use_dictionary=repeated,
            write_page_checksum=True,
        )
    return file


def read(file: str, schema: pa.Schema | None) -> pa.Table:
    with fsspec.open(file, "rb") as handle, ParquetStream(handle) as parquet:
        rows = parquet.read()
    return rows if schema is None else rows.select(schema.names).cast(schema)
