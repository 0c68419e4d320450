"""Runs an audit's steps in this process, on all rows at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ingest.lake.derived import ALL_TABLES, with_same_rows
from ingest.lake.reader import LakeReader
from ingest.lake.tables import with_columns
from ingest.parquet_stream import open_parquet
from spark_jobs.arrow_schemas import INSTANT, Make, fields_of
from spark_jobs.run_files import RunFiles
from spark_jobs.slices import data_path
from spark_jobs.storage.audit import GroupKeys, Step
from spark_jobs.storage.layout_columns import is_metadata


@dataclass(frozen=True)
class LocalEngine:
    def run(
        self,
        step: Step,
        parts: Mapping[str, pa.Table],
        schemas: Mapping[str, pa.Schema],
        group_keys: GroupKeys | None = None,
        shared: Mapping[str, pa.Table] | None = None,
    ) -> dict[str, pa.Table]:
        results = step(parts, shared or {})
        return {name: rows.cast(schemas[name]) for name, rows in results.items()}

    def collect(self, rows: pa.Table) -> pa.Table:
        return rows

    def read(
        self, files: Sequence[str], schema: pa.Schema, root: str | None = None, **constants: str
    ) -> pa.Table:
        """Columns that a file lacks are null. ``root``: read only its rows."""
        rows = pa.concat_tables([schema.empty_table(), *(_read(file, schema) for file in files)])
        if root is not None:
            rows = rows.filter(pc.equal(rows.column("root"), root))
        for name, value in constants.items():
            rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
        return rows

    def concat(self, rows: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
        parts = (with_columns(part, schema).cast(schema) for part in rows)
        return pa.concat_tables([schema.empty_table(), *parts])

    def count(self, rows: pa.Table) -> int:
        return int(rows.num_rows)

    def metadata_of(self, listing: pa.Table) -> pa.Table:
        return listing.filter(is_metadata(listing.column("path")))

    def lake_rows(
        self,
        lake: LakeReader,
        table: str,
        since: datetime,
        where: Mapping[str, int],
        columns: Sequence[str],
    ) -> pa.Table:
        declared = ALL_TABLES[table]
        names = dict.fromkeys((*columns, declared.time_column, *where))
        schema = fields_of(declared.schema, *names)
        paths = [
            data_path(lake, source_table, file)
            for source_table in with_same_rows(table)
            for file in lake.files(source_table, from_time=since)
        ]
        condition = pc.field(declared.time_column) >= pa.scalar(since, INSTANT)
        for name, value in where.items():
            condition &= pc.field(name) == value
        return self.read(paths, schema).filter(condition).select(list(columns))

    def count_by(self, rows: pa.Table, key: Sequence[str], largest: str) -> pa.Table:
        counts = rows.group_by(list(key)).aggregate([([], "count_all"), (largest, "max")])
        return counts.rename_columns({"count_all": "rows", f"{largest}_max": largest})

    def join(self, rows: pa.Table, other: pa.Table, key: Sequence[str]) -> pa.Table:
        # Arrow cannot join tables with list columns, so only the keys are joined.
        index = pa.array(range(rows.num_rows), pa.int64())
        matches = (
            rows.select(list(key))
            .append_column("_index", index)
            .join(other, list(key), join_type="inner")
            .sort_by("_index")
        )
        joined = rows.take(matches.column("_index"))
        for name in other.column_names:
            if name not in key:
                joined = joined.append_column(name, matches.column(name))
        return joined

    def derive(
        self, make: Make, source_rows: pa.Table, schema: pa.Schema
    ) -> tuple[pa.Table, ds.Dataset | None]:
        rows = pa.Table.from_batches(make(source_rows.to_batches()), schema)
        return rows, ds.dataset(rows) if rows.num_rows else None

    def write_table(self, run_dir: RunFiles, name: str, rows: pa.Table) -> int:
        return run_dir.write_table_rows(name, rows)

    def write_ordered(self, run_dir: RunFiles, name: str, rows: pa.Table, schema: pa.Schema) -> int:
        return run_dir.write_table_rows(
            name,
            rows.sort_by([("root_no", "ascending"), ("path", "ascending")]).select(schema.names),
        )

    def write_state(self, run_dir: RunFiles, name: str, rows: Sequence[pa.Table]) -> int:
        run_dir.state[name] = ()
        output = run_dir.write_rows(f"state/{name}", pa.concat_tables(rows))
        return run_dir.take_state(name, output)


def _read(file: str, schema: pa.Schema) -> pa.Table:
    with open_parquet(file, checks_pages=True) as parquet:
        present = [name for name in schema.names if name in parquet.schema_arrow.names]
        return with_columns(parquet.read(present), schema).cast(schema)
