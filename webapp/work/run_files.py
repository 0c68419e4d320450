from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa

from ingest.parquet_stream import ParquetStream
from spark_jobs.manifest import BadManifest, Manifest, read
from spark_jobs.run_rows import retracted_of, rows_of
from spark_jobs.serving import SERVING_TABLES, ServingTable

BATCH_ROWS = 50_000
"""Of Parquet, read at once."""
ROWS_PER_BATCH = 2_000
"""Each batch is one transaction, short enough that other writers on SQLite never wait long."""


def read_manifest(
    path: str, attempt: str | None = None, tables: Mapping[str, ServingTable] = SERVING_TABLES
) -> Manifest:
    """The manifest at ``path``; raises :class:`BadManifest` if it is torn, invalid or of another
    attempt.
    """
    manifest = read(path)
    if attempt is not None and manifest.attempt != attempt:
        raise BadManifest(
            f"The manifest at {path} belongs to attempt {manifest.attempt}, not {attempt}."
        )
    unknown = (manifest.tables.keys() | manifest.retracted.keys()) - tables.keys()
    if unknown:
        raise BadManifest(
            f"The manifest at {path} names serving tables this version does not know: "
            f"{', '.join(sorted(unknown))}."
        )
    for output in (*manifest.tables.values(), *manifest.retracted.values()):
        for file in output.files:
            file_path = PurePosixPath(file)
            if file_path.is_absolute() or ".." in file_path.parts or "://" in file:
                raise BadManifest(f"The manifest at {path} names a file outside its run: {file}.")
    return manifest


def batches(
    manifest: Manifest, table: str, tables: Mapping[str, ServingTable] = SERVING_TABLES
) -> Iterator[list[dict[str, Any]]]:
    """Rows of one serving table, at most ``ROWS_PER_BATCH`` at once; raises :class:`BadManifest` if
    files and manifest differ.
    """
    for batch in rows_of(manifest, table, tables[table].column_names, ROWS_PER_BATCH):
        yield _plain(manifest, table, batch)


def file_uris(manifest: Manifest, table: str) -> list[str]:
    output = manifest.tables.get(table)
    return [f"{manifest.run_dir.rstrip('/')}/{file}" for file in output.files] if output else []


def state_uris(manifest: Manifest, name: str) -> list[str]:
    """Parquet files of the state ``name`` for the next run; empty if the run has no such state."""
    return [f"{manifest.run_dir.rstrip('/')}/{file}" for file in manifest.state.get(name, ())]


def parquet_batches(
    files: Iterable[str], columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Columns that a file lacks are left out."""
    for file in files:
        with fsspec.open(file, "rb") as stream:
            parquet = ParquetStream(stream)
            present = parquet.schema_arrow.names
            names = None if columns is None else [name for name in columns if name in present]
            yield from parquet.iter_batches(BATCH_ROWS, columns=names)


def retracted_keys(manifest: Manifest, table: str) -> Iterator[list[dict[str, Any]]]:
    """Keys of the rows to delete from one serving table; see :func:`batches`."""
    for batch in retracted_of(manifest, table, SERVING_TABLES[table].key, ROWS_PER_BATCH):
        yield _plain(manifest, table, batch)


def _plain(manifest: Manifest, table: str, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
        return rows
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise BadManifest(
            f"{table} of attempt {manifest.attempt} cannot be read: {error}"
        ) from error
