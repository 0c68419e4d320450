"""Reads the rows of a complete run, nested or not, without Spark."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from ingest.parquet_stream import ParquetStream, open_parquet
from spark_jobs.manifest import BadManifest, Manifest, Output, is_damage
from spark_jobs.nested_tables import JOB, NESTED, RETRACTED, parquet_columns, unnest

JOBS_AT_ONCE = 64
_NESTED = {table.name: table for table in (*NESTED, RETRACTED)}


def rows_of(
    manifest: Manifest, table: str, columns: Sequence[str], rows_at_once: int
) -> Iterator[pa.RecordBatch]:
    """Rows of a table in bounded batches, if the run has the table. Raises BadManifest if files are
    damaged or differ from the manifest.
    """
    return _rows(manifest, table, manifest.tables.get(table), columns, rows_at_once)


def retracted_of(
    manifest: Manifest, table: str, columns: Sequence[str], rows_at_once: int
) -> Iterator[pa.RecordBatch]:
    return _rows(manifest, RETRACTED.name, manifest.retracted.get(table), columns, rows_at_once)


def _rows(
    manifest: Manifest, table: str, output: Output | None, columns: Sequence[str], rows_at_once: int
) -> Iterator[pa.RecordBatch]:
    output = output or Output(0)
    rows = 0
    for file in output.files:
        name = f"{file} of attempt {manifest.attempt}"
        try:
            with open_parquet(f"{manifest.run_dir}/{file}") as parquet:
                for batch in _batches(parquet, name, table, columns, rows_at_once):
                    rows += batch.num_rows
                    if batch.num_rows:
                        yield batch
        except (pa.ArrowException, OSError) as error:
            if not is_damage(error):
                raise
            raise BadManifest(f"{name} cannot be read: {error}") from error
    if rows != output.rows:
        raise BadManifest(
            f"{table} of attempt {manifest.attempt} has {rows} rows, its manifest says "
            f"{output.rows}."
        )


def _batches(
    parquet: ParquetStream, file: str, table: str, columns: Sequence[str], rows_at_once: int
) -> Iterator[pa.RecordBatch]:
    names = set(parquet.schema_arrow.names)
    if table in names:
        declared = _NESTED[table]
        for jobs in parquet.iter_batches(
            batch_size=JOBS_AT_ONCE, columns=[*JOB, *parquet_columns(declared, columns)]
        ):
            rows = unnest(jobs, declared, columns)
            for start in range(0, rows.num_rows, rows_at_once):
                yield rows.slice(start, rows_at_once)
        return
    if missing := set(columns) - names:
        raise BadManifest(f"{file} lacks the columns {', '.join(sorted(missing))}.")
    yield from parquet.iter_batches(batch_size=rows_at_once, columns=list(columns))
