"""The files of a Spark run: the manifest checked, its Parquet tables read in batches."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs import manifest as manifests
from spark_jobs.manifest import BadManifest
from spark_jobs.serving import SERVING_TABLES, ServingTable

ROWS_PER_BATCH = 2_000
"""One transaction's worth: short enough that other writers on SQLite never wait long."""


def read_manifest(path: str, attempt: str | None = None, known: Mapping[str, ServingTable] = SERVING_TABLES) -> manifests.Manifest:
    """The manifest at ``path``; raises :class:`BadManifest` where it is torn, foreign or of another attempt."""
    manifest = manifests.read(path)
    if attempt is not None and manifest.attempt != attempt:
        raise BadManifest(f"The manifest at {path} belongs to attempt {manifest.attempt}, not {attempt}.")
    unknown = (manifest.tables.keys() | manifest.retracted.keys()) - known.keys()
    if unknown:
        raise BadManifest(f"The manifest at {path} names serving tables this version does not know: {', '.join(sorted(unknown))}.")
    for output in (*manifest.tables.values(), *manifest.retracted.values()):
        for file in output.files:
            if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts or "://" in file:
                raise BadManifest(f"The manifest at {path} names a file outside its run: {file}.")
    return manifest


def batches(manifest: manifests.Manifest, table: str, known: Mapping[str, ServingTable] = SERVING_TABLES) -> Iterator[list[dict[str, Any]]]:
    """Rows of one serving table, at most ``ROWS_PER_BATCH`` at once; raises :class:`BadManifest` where files and manifest differ."""
    yield from _batches(manifest, table, manifest.tables[table], known[table].column_names)


def retracted_keys(manifest: manifests.Manifest, table: str) -> Iterator[list[dict[str, Any]]]:
    """Keys of rows that must go, in the same way."""
    yield from _batches(manifest, table, manifest.retracted[table], SERVING_TABLES[table].key)


def _batches(manifest: manifests.Manifest, table: str, output: manifests.Output, names: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    filesystem, root = fsspec.core.url_to_fs(manifest.run_dir)
    seen = 0
    for file in output.files:
        try:
            with filesystem.open(f"{root.rstrip('/')}/{file}", "rb") as handle:
                parquet = pq.ParquetFile(handle)
                missing = set(names) - set(parquet.schema_arrow.names)
                if missing:
                    raise BadManifest(f"{file} of attempt {manifest.attempt} lacks the columns {', '.join(sorted(missing))}.")
                for batch in parquet.iter_batches(batch_size=ROWS_PER_BATCH, columns=list(names)):
                    seen += batch.num_rows
                    if batch.num_rows:
                        yield batch.to_pylist()
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if not (isinstance(error, UnicodeDecodeError) or manifests.is_damage(error)):
                raise
            raise BadManifest(f"{file} of attempt {manifest.attempt} cannot be read: {error}") from error
    if seen != output.rows:
        raise BadManifest(f"{table} of attempt {manifest.attempt} has {seen} rows, its manifest says {output.rows}.")
