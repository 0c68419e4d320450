from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.reader import LakeReader
from ingest.parquet_stream import ParquetStream
from spark_jobs.manifest import Manifest, Output
from spark_jobs.nested_tables import JOB
from spark_jobs.run_files import EXECUTIONS, JOB_STATE
from spark_jobs.small.rows import MOST_BYTES, SmallLake, TooLarge, is_local
from spark_jobs.small.tables import in_order, mapped
from spark_jobs.spans import WINDOW, merge_spans, windows_between
from spark_jobs.steps.cycle import Cycle, Made, Make, Parts
from spark_jobs.transforms import group_windows

MOST_STATE_BYTES = 4 * MOST_BYTES
MOST_EXECUTIONS = 100_000


def fits(lake: LakeReader, previous: Manifest | None, run_dir: str) -> bool:
    """The number of new rows shows while they are read."""
    if not is_local(lake.root, run_dir, previous.run_dir if previous else ""):
        return False
    filesystem, root = fsspec.core.url_to_fs(previous.run_dir if previous else run_dir)
    files = previous.state.get(JOB_STATE, ()) if previous else ()
    return sum(filesystem.size(f"{root}/{file}") or 0 for file in files) <= MOST_STATE_BYTES


class SmallCycle(Cycle):
    """Raises :class:`spark_jobs.small.rows.TooLarge`; then Spark may write to the same directory."""

    lake: SmallLake

    def _mapped(self, rows: pa.Table, make: Make, schema: pa.Schema) -> pa.Table:
        return mapped(rows, make, schema)

    def _in_order(self, parts: Parts, by: Sequence[str]) -> pa.Table:
        return in_order(parts, by)

    def _made(self, folder: str, rows: pa.Table, make: Make, schema: pa.Schema) -> Made:
        made = mapped(rows, make, schema)
        is_staged = folder.startswith("staged/")
        return Made(
            made, Output(made.num_rows) if is_staged else self.run_dir.write_rows(folder, made)
        )

    def _rows(self, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
        return pa.Table.from_pylist(rows, schema)

    def _collected(self, rows: pa.Table) -> list[dict[str, Any]]:
        plain_rows: list[dict[str, Any]] = rows.to_pylist()
        return plain_rows

    def _holds(self, rows: pa.Table, columns: Sequence[str]) -> bool:
        return any(rows[name].null_count < rows.num_rows for name in columns)

    def _bounds(self, rows: pa.Table, column: str) -> tuple[datetime, datetime]:
        bounds = pc.min_max(rows[column]).as_py()
        return bounds["min"], bounds["max"]

    def _select_jobs(self, rows: pa.Table, jobs: pa.Table) -> pa.Table:
        wanted = set(_jobs_of(jobs))
        return rows.filter(pa.array([job in wanted for job in _jobs_of(rows)], pa.bool_()))

    def _touched_windows(self, new: pa.Table) -> pa.Table:
        touched = windows_between(self.lake.times_of_new("vertex_metrics", self.from_seq), WINDOW)
        if touched is None:
            starts = pc.unique(
                pc.floor_temporal(new["ts"].drop_null(), WINDOW // timedelta(seconds=1), "second")
            ).to_pylist()
            touched = merge_spans((start, start + WINDOW) for start in starts)
        return self.lake.rows_in("vertex_metrics", touched) if new.num_rows else new

    def _flagged(self, samples: pa.Table, after_seq: int) -> pa.Table:
        dated = samples.filter(pc.is_valid(samples["ts"]))
        return dated.select(list(group_windows.SAMPLE)).append_column(
            group_windows.IS_NEW, pc.greater(dated["commit_seq"], after_seq)
        )

    def _carried(self, name: str, schema: pa.Schema, known: str | None = None) -> pa.Table:
        read = [schema.empty_table()]
        filesystem, root = fsspec.core.url_to_fs(
            self.previous.run_dir if self.previous else self.run_dir.uri
        )
        for path in self.previous.state.get(name, ()) if self.previous else ():
            with filesystem.open(f"{root}/{path}", "rb") as handle:
                snapshot = ParquetStream(handle, checks_pages=True)
                if (
                    name == EXECUTIONS
                    and self.lake.most_rows is not None
                    and snapshot.metadata.num_rows > MOST_EXECUTIONS
                ):
                    raise TooLarge(
                        f"{snapshot.metadata.num_rows} remembered attempts are more than one "
                        "process should hold."
                    )
                there = [column for column in schema.names if column in snapshot.schema_arrow.names]
                kinds = pa.schema([snapshot.schema_arrow.field(column) for column in there])
                rows = pa.Table.from_batches(
                    self._select_clusters(snapshot.iter_batches(columns=there)), kinds
                )
                columns = [
                    rows[field.name] if field.name in there else pa.nulls(rows.num_rows, field.type)
                    for field in schema
                ]
                read.append(pa.table(columns, schema.names).cast(schema))
        tables = pa.concat_tables(read)
        return tables.filter(pc.is_valid(tables[known])) if known else tables

    def _select_clusters(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.lake.clusters is None:
            return iter(batches)
        known = pa.array(self.lake.clusters, pa.string())
        return (batch.filter(pc.is_in(batch["cluster"], known)) for batch in batches)

    def _carry_over(self, name: str, schema: pa.Schema) -> None:
        if self.lake.clusters is None:
            super()._carry_over(name, schema)
        else:
            rows = self._carried(name, schema)
            self.run_dir.take_state(name, self.run_dir.write_rows(f"state/{name}", rows))


def _jobs_of(rows: pa.Table) -> Iterable[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in JOB), strict=True)
