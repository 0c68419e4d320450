from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.reader import LakeReader
from ingest.lake.tables import with_columns
from ingest.parquet_stream import ParquetStream, open_parquet
from spark_jobs.arrow_schemas import Make
from spark_jobs.manifest import Manifest, Output
from spark_jobs.nested_tables import JOB
from spark_jobs.paths import is_local
from spark_jobs.run_files import EXECUTIONS, JOB_STATE
from spark_jobs.small.rows import MOST_BYTES, SmallLake, TooLarge
from spark_jobs.small.tables import group_rows, map_rows
from spark_jobs.spans import WINDOW, merge_spans, windows_between
from spark_jobs.steps.cycle import Cycle, Parts, StoredRows
from spark_jobs.transforms import group_windows

MOST_STATE_BYTES = 4 * MOST_BYTES
MOST_EXECUTIONS = 100_000


def fits(lake: LakeReader, previous: Manifest | None, run_dir: str) -> bool:
    """Whether to try without Spark; too many new rows show only when they are read."""
    if not is_local(lake.root, run_dir, previous.run_dir if previous else ""):
        return False
    files = previous.state_files(JOB_STATE) if previous else ()
    return sum(Path(file).stat().st_size for file in files) <= MOST_STATE_BYTES


class SmallCycle(Cycle):
    """``steps`` may raise TooLarge; then Spark may write to the same directory."""

    lake: SmallLake

    def _map(self, rows: pa.Table, make: Make, schema: pa.Schema) -> pa.Table:
        return map_rows(rows, make, schema)

    def _group(self, parts: Parts, by: Sequence[str]) -> pa.Table:
        return group_rows(parts, by)

    def _write(self, folder: str, rows: pa.Table, make: Make, schema: pa.Schema) -> StoredRows:
        results = map_rows(rows, make, schema)
        if folder.startswith("staged/"):
            return StoredRows(results, Output(results.num_rows))
        return StoredRows(results, self.run_dir.write_rows(folder, results))

    def _from_rows(self, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
        return pa.Table.from_pylist(rows, schema)

    def _collect(self, rows: pa.Table) -> list[dict[str, Any]]:
        return list(rows.to_pylist())

    def _has_values(self, rows: pa.Table, columns: Sequence[str]) -> bool:
        return any(rows[name].null_count < rows.num_rows for name in columns)

    def _bounds(self, rows: pa.Table, column: str) -> tuple[datetime, datetime]:
        bounds = pc.min_max(rows[column]).as_py()
        return bounds["min"], bounds["max"]

    def _select_jobs(self, rows: pa.Table, jobs: pa.Table) -> pa.Table:
        selected = set(_jobs_of(jobs))
        return rows.filter(pa.array([job in selected for job in _jobs_of(rows)], pa.bool_()))

    def _samples_of_touched_windows(self, new: pa.Table) -> pa.Table:
        windows = windows_between(self.lake.times_of_new("vertex_metrics", self.from_seq))
        if windows is None:
            starts = pc.unique(
                pc.floor_temporal(new["ts"].drop_null(), WINDOW // timedelta(seconds=1), "second")
            ).to_pylist()
            windows = merge_spans((start, start + WINDOW) for start in starts)
        return self.lake.rows_in("vertex_metrics", windows) if new.num_rows else new

    def _mark_new(self, samples: pa.Table, after_seq: int) -> pa.Table:
        timed = samples.filter(pc.is_valid(samples["ts"]))
        return timed.select(list(group_windows.SAMPLE)).append_column(
            group_windows.IS_NEW, pc.greater(timed["commit_seq"], after_seq)
        )

    def _read_state(self, name: str, schema: pa.Schema, required: str | None = None) -> pa.Table:
        tables = [schema.empty_table()]
        for file in self.previous.state_files(name) if self.previous else ():
            with open_parquet(file, checks_pages=True) as parquet:
                attempts = parquet.metadata.num_rows if name == EXECUTIONS else 0
                if self.lake.most_rows is not None and attempts > MOST_EXECUTIONS:
                    raise TooLarge(
                        f"{attempts} remembered attempts are more than one process should hold."
                    )
                tables.append(self._read_file(parquet, schema))
        rows = pa.concat_tables(tables)
        return rows.filter(pc.is_valid(rows[required])) if required else rows

    def _read_file(self, parquet: ParquetStream, schema: pa.Schema) -> pa.Table:
        file_schema = parquet.schema_arrow
        present = [column for column in schema.names if column in file_schema.names]
        rows = pa.Table.from_batches(
            self._select_clusters(parquet.iter_batches(columns=present)),
            pa.schema([file_schema.field(column) for column in present]),
        )
        return with_columns(rows, schema).cast(schema)

    def _select_clusters(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.lake.clusters is None:
            return iter(batches)
        clusters = pa.array(self.lake.clusters, pa.string())
        return (batch.filter(pc.is_in(batch["cluster"], clusters)) for batch in batches)

    def _copy_state(self, name: str, schema: pa.Schema) -> None:
        if self.lake.clusters is None:
            super()._copy_state(name, schema)
        else:
            rows = self._read_state(name, schema)
            self.run_dir.take_state(name, self.run_dir.write_rows(f"state/{name}", rows))


def _jobs_of(rows: pa.Table) -> Iterable[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in JOB), strict=True)
