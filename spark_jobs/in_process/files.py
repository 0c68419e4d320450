"""Parquet on this machine, read and written as Spark does."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.parquet_stream import ParquetStream
from spark_jobs.in_process.values import Table, Unsupported, arrow_type, from_arrow, parsed_row


def read(paths: Sequence[str], schema: str, options: Mapping[str, str]) -> Table:
    """Rows of files or folders; columns of ``schema`` that a file lacks are null, or are reported by its folder (``name=value``)."""
    files = [file for path in paths for file in _files(local(path))]
    wanted = _schema(schema, files)
    tables = [_read(file, wanted) for file in files]
    return from_arrow(pa.concat_tables([wanted.empty_table(), *tables]))


def write(table: Table, path: str, mode: str, dictionary: Mapping[str, bool]) -> None:
    """One file in a folder; ``dictionary``: columns in which repetitions are looked for, or not."""
    folder = local(path)
    if folder.exists():
        if mode != "overwrite":
            raise FileExistsError(f"{folder} is there already.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    repeated = [name for name in table.names if dictionary.get(name, True)]
    pq.write_table(table.to_arrow(), folder / "part-00000.parquet", use_dictionary=repeated, store_schema=False, write_page_checksum=True)


def local(path: str) -> Path:
    """Of an absolute path or ``file:`` address, characters of patterns escaped."""
    if not path.startswith(("file:/", "/")):
        raise Unsupported(f"{path}, which is not on this machine")
    plain, skipped = [], False
    for character in path.removeprefix("file:"):
        if character == "\\" and not skipped:
            skipped = True
            continue
        plain.append(character)
        skipped = False
    return Path("".join(plain))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.iterdir() if not file.name.startswith(("_", ".")))
    return [path]


def _schema(schema: str, files: Sequence[Path]) -> pa.Schema:
    if not schema:
        return pq.read_schema(files[0])
    return pa.schema([pa.field(field.name, arrow_type(field.dataType)) for field in parsed_row(schema).fields])


def _read(file: Path, wanted: pa.Schema) -> pa.Table:
    # Not by path: then the folders above would be taken for columns.
    with file.open("rb") as opened, ParquetStream(opened, checks_pages=True) as parquet:
        held = [name for name in wanted.names if name in parquet.schema_arrow.names]
        found = parquet.read(held)
    reported = dict(folder.split("=", 1) for folder in file.parent.parts if "=" in folder)
    columns = []
    for field in wanted:
        if field.name in held:
            columns.append(_cast(found.column(field.name), field.type))
        elif field.name in reported and field.type == pa.date32():
            columns.append(pa.repeat(pa.scalar(date.fromisoformat(reported[field.name]), field.type), found.num_rows))
        else:
            columns.append(pa.nulls(found.num_rows, field.type))
    return pa.table(columns, schema=wanted)


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == wanted else column.cast(wanted)
