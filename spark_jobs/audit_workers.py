"""Steps of an audit in Spark's Python workers: batches in, files out."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.parquet_stream import open_parquet
from spark_jobs.arrow_schemas import Batches, schema
from spark_jobs.storage.audit import Step

ROW_GROUP_ROWS = 100_000
UNREPEATED = ("path", "listed_path")
WRITTEN_FILE = schema(part="text", place="text", task="text", file="text", rows="int")
"""``place`` sorts the files of the ordered part; it is empty for other parts."""

_ROOT_DIGITS = 9

PartsOf = Callable[[Batches], Iterator[dict[str, pa.Table]]]
"""Batches of a partition → rows by part, once for each call of the step."""


def run_step(
    batches: Batches,
    parts_of: PartsOf,
    step: Step,
    side_files: Mapping[str, str],
    folders: Mapping[str, str],
    schemas: Mapping[str, pa.Schema],
    ordered: str,
) -> Iterator[pa.RecordBatch]:
    """Writes the results; returns a ``WRITTEN_FILE`` for each file. The part ``ordered`` has a file
    for each root. Failed tasks leave unused files.
    """
    shared: dict[str, pa.Table] | None = None
    for parts in parts_of(batches):
        shared = shared or {name: read(file, None) for name, file in side_files.items()}
        task = uuid.uuid4().hex
        for name, result in step(parts, shared).items():
            cast = result.cast(schemas[name])
            files = _in_order(cast) if name == ordered else [("", cast)]
            for number, (place, rows) in enumerate(files):
                if rows.num_rows:
                    file = write(rows, f"{folders[name]}/part-{task}-{number}.parquet")
                    yield pa.RecordBatch.from_arrays(
                        [pa.array([value]) for value in (name, place, task, file, rows.num_rows)],
                        schema=WRITTEN_FILE,
                    )


def _in_order(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """``place`` and rows of each root."""
    for number in pc.unique(rows.column("root_no")).to_pylist():
        root_rows = rows.filter(pc.equal(rows.column("root_no"), number)).sort_by("path")
        place = f"{number:0{_ROOT_DIGITS}}{root_rows.column('path')[0].as_py()}"
        yield place, root_rows.select(without_number(rows.schema).names)


def without_number(schema: pa.Schema) -> pa.Schema:
    return schema.remove(schema.get_field_index("root_no"))


def rows_of_parts(
    batches: Batches, schemas: Mapping[str, pa.Schema]
) -> Iterator[dict[str, pa.Table]]:
    nonempty = [batch for batch in batches if batch.num_rows]
    if not nonempty:
        return
    rows = pa.Table.from_batches(nonempty)
    nonempty.clear()
    part = rows.column("_part")
    yield {
        name: rows.filter(pc.equal(part, number)).select(schema.names).combine_chunks()
        for number, (name, schema) in enumerate(schemas.items())
    }


def files_of_tasks(
    batches: Batches, tasks: str, schemas: Mapping[str, pa.Schema]
) -> Iterator[dict[str, pa.Table]]:
    files_by_task = json.loads(tasks)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            files = files_by_task[number]
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
    with open_parquet(file) as parquet:
        rows = parquet.read()
    return rows if schema is None else rows.select(schema.names).cast(schema)
