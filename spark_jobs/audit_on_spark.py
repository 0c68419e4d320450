"""Runs an audit's steps on Spark. A step gets all rows of a partition; its worker writes the result
as Parquet. No data on the driver grow with the audited files.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Self

import fsspec
import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.lake.derived import ALL_TABLES
from ingest.lake.reader import LakeReader
from spark_jobs import arrow_schemas
from spark_jobs.arrow_schemas import Make
from spark_jobs.audit_workers import (
    WRITTEN_FILE,
    PartsOf,
    files_of_tasks,
    read,
    rows_of_parts,
    run_step,
    without_number,
    write,
)
from spark_jobs.frames import VERIFIED, parquet_frame
from spark_jobs.lake import SMALL_ROWS, pin
from spark_jobs.manifest import Output
from spark_jobs.run_files import RunFiles
from spark_jobs.schemas import spark_schema
from spark_jobs.session import SMALL_INPUT_OPTIONS, configure, session_of_attempt
from spark_jobs.shipping import ship_code
from spark_jobs.storage.audit import GroupKeys, Step
from spark_jobs.storage.layout_columns import METADATA_SUFFIX
from spark_jobs.transforms.folding import union
from spark_jobs.worker_rows import WorkerRows

ROWS_A_TASK = 500_000
"""One Python worker holds all rows of its task in memory."""
METADATA_A_TASK = 50
"""Each ``_metadata`` costs a round trip to storage."""
LEAST_TASKS, MOST_TASKS = 2, 4000
MOST_BROADCAST = 50_000
"""Checkpoints, some ten megabytes. Broadcasting them spares their references a shuffle."""
OPTIONS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # Spark broadcasts no table by itself: tables that grow with files are too large.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
}
ORDERED = "not_live"
"""The part whose output is ordered by root and path."""
PATH = ("path",)
OUTPUT_FOLDERS = {
    ORDERED: "tables/storage_file",
    "storage_reference": "tables/storage_reference",
    "storage_live": "tables/storage_live",
    "storage_absent": "state/storage_absent",
    "storage_pending": "state/storage_pending",
}
"""Folders in the run directory of outputs that outlive the audit."""


@dataclass(frozen=True)
class Frame:
    """``rows`` is an upper bound of the number of rows."""

    frame: DataFrame
    schema: pa.Schema
    rows: int


@dataclass(frozen=True)
class Files:
    written: tuple[tuple[str, str, int], ...]
    """(task, address, rows) of each file; files of the ordered part are in order."""
    schema: pa.Schema

    @property
    def rows(self) -> int:
        return sum(rows for _, _, rows in self.written)

    @property
    def addresses(self) -> list[str]:
        return [file for _, file, _ in self.written]


Rows = Frame | Files


@dataclass
class SparkEngine:
    """The run's ``uri`` is absolute, or of a scheme for which workers have credentials."""

    session: SparkSession
    uri: str
    _work_folder: str = field(default_factory=lambda: f"work-{uuid.uuid4().hex}", init=False)
    _steps: int = field(default=0, init=False)
    _previous_options: dict[str, str | None] = field(default_factory=dict, init=False)

    def __enter__(self) -> Self:
        self._previous_options = {
            name: self.session.conf.get(name, None) for name in (*OPTIONS, *SMALL_INPUT_OPTIONS)
        }
        configure(self.session, OPTIONS)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        filesystem, path = fsspec.core.url_to_fs(f"{self.uri}/{self._work_folder}")
        if filesystem.exists(path):
            filesystem.rm(path, recursive=True)
        if kind is None:
            for name, value in self._previous_options.items():
                if value is not None:
                    configure(self.session, {name: value})

    def run(
        self,
        step: Step,
        parts: Mapping[str, Rows],
        schemas: Mapping[str, pa.Schema],
        group_keys: GroupKeys | None = None,
        shared: Mapping[str, pa.Table] | None = None,
    ) -> dict[str, Files]:
        folder = self._next_folder()
        frame, parts_of = (
            self._by_task(parts) if group_keys is None else self._by_key(parts, group_keys)
        )
        work = partial(
            run_step,
            parts_of=parts_of,
            step=step,
            side_files={
                name: write(rows, f"{folder}/shared/{name}.parquet")
                for name, rows in (shared or {}).items()
            },
            folders={name: self._output_folder(name, folder) for name in schemas},
            schemas=dict(schemas),
            ordered=ORDERED,
        )
        written = sorted(frame.mapInArrow(work, spark_schema(WRITTEN_FILE)).collect())
        return {
            name: Files(
                tuple((row.task, row.file, row.rows) for row in written if row.part == name),
                without_number(schema) if name == ORDERED else schema,
            )
            for name, schema in schemas.items()
        }

    def _output_folder(self, name: str, work_folder: str) -> str:
        kept = OUTPUT_FOLDERS.get(name)
        return f"{self.uri}/{kept}" if kept else f"{work_folder}/{name}"

    def _by_task(self, parts: Mapping[str, Rows]) -> tuple[DataFrame, PartsOf]:
        tasks: dict[str, dict[str, list[str]]] = {}
        for name, files in parts.items():
            for task, file, _ in files.written if isinstance(files, Files) else ():
                tasks.setdefault(task, {}).setdefault(name, []).append(file)
        schemas = {name: rows.schema for name, rows in parts.items()}
        numbers = self.session.range(0, len(tasks), 1, max(len(tasks), 1)).select(F.col("id"))
        return numbers, partial(
            files_of_tasks, tasks=json.dumps(list(tasks.values())), schemas=schemas
        )

    def _by_key(
        self, parts: Mapping[str, Rows], group_keys: GroupKeys
    ) -> tuple[DataFrame, PartsOf]:
        rows = sum(part.rows for part in parts.values())
        configure(self.session, SMALL_INPUT_OPTIONS if rows <= SMALL_ROWS else OPTIONS)
        part_frames = []
        for number, (name, part) in enumerate(parts.items()):
            key = group_keys[name] if isinstance(group_keys, Mapping) else group_keys
            tags = {"_part": F.lit(number), "_key": F.xxhash64(*key)}
            if "listed_path" in part.schema.names:
                # Both paths are mostly the same long text: steps read null as ``path``.
                differs = F.col("listed_path") != F.col("path")
                tags["listed_path"] = F.when(differs, F.col("listed_path"))
            part_frames.append(self._frame(part).withColumns(tags))
        frame = union(part_frames)
        schemas = {name: part.schema for name, part in parts.items()}
        tasks = _tasks(rows, ROWS_A_TASK)
        if group_keys != PATH:
            frame = frame.repartition(tasks, "_key")
        elif rows <= SMALL_ROWS:
            frame = frame.repartition(1)
        else:
            frame = frame.repartitionByRange(tasks, *PATH)
        return frame.drop("_key"), partial(rows_of_parts, schemas=schemas)

    def _frame(self, rows: Rows) -> DataFrame:
        if isinstance(rows, Frame):
            return rows.frame
        return parquet_frame(self.session, rows.addresses, rows.schema)

    def _next_folder(self) -> str:
        self._steps += 1
        return f"{self.uri}/{self._work_folder}/{self._steps}"

    def collect(self, rows: Rows) -> pa.Table:
        if isinstance(rows, Frame):
            return rows.frame.toArrow().cast(rows.schema)
        return pa.concat_tables(
            [rows.schema.empty_table(), *(read(file, rows.schema) for file in rows.addresses)]
        )

    def read(
        self, files: Sequence[str], schema: pa.Schema, root: str | None = None, **constants: str
    ) -> Frame:
        frame = parquet_frame(self.session, files, schema, VERIFIED)
        if root is not None:
            frame = frame.where(F.col("root") == root)
        frame = frame.select("*", *(F.lit(value).alias(name) for name, value in constants.items()))
        full_schema = arrow_schemas.schema(*schema, **dict.fromkeys(constants, "text"))
        return Frame(frame, full_schema, frame.count() if files else 0)

    def concat(self, rows: Sequence[Rows], schema: pa.Schema) -> Frame:
        empty = self.session.createDataFrame([], spark_schema(schema))
        frame = union([empty, *map(self._frame, rows)])
        return Frame(frame.select(*schema.names), schema, sum(part.rows for part in rows))

    def count(self, rows: Rows) -> int:
        return rows.rows

    def metadata_of(self, listing: Frame) -> pa.Table:
        return (
            listing.frame.where(F.endswith("path", F.lit(METADATA_SUFFIX)))
            .toArrow()
            .cast(listing.schema)
        )

    def lake_rows(
        self,
        lake: LakeReader,
        table: str,
        since: datetime,
        where: Mapping[str, int],
        columns: Sequence[str],
    ) -> Frame:
        frame = pin(self.session, lake).rows_in(
            table, [(since, datetime.now(UTC) + timedelta(days=1))]
        )
        for name, value in where.items():
            frame = frame.where(F.col(name) == value)
        chosen = frame.select(*columns)
        return Frame(
            chosen,
            pa.schema([ALL_TABLES[table].schema.field(name) for name in columns]),
            chosen.count(),
        )

    def count_by(self, rows: Frame, key: Sequence[str], largest: str) -> pa.Table:
        return (
            rows.frame.groupBy(*key)
            .agg(F.count("*").alias("rows"), F.max(largest).alias(largest))
            .toArrow()
        )

    def join(self, rows: Frame, other: pa.Table, key: Sequence[str]) -> Frame:
        join_hint = "broadcast" if other.num_rows <= MOST_BROADCAST else "shuffle_hash"
        return Frame(
            rows.frame.join(self.session.createDataFrame(other).hint(join_hint), list(key)),
            rows.schema,
            rows.rows,
        )

    def derive(
        self, make: Make, source_rows: pa.Table, schema: pa.Schema
    ) -> tuple[Files, ds.Dataset | None]:
        """The files that a slow function makes of rows, and their dataset; None without rows."""
        if not source_rows.num_rows:
            return Files((), schema), None
        folder = self._next_folder()
        frame = self.session.createDataFrame(source_rows).repartition(
            _tasks(source_rows.num_rows, METADATA_A_TASK), F.xxhash64("path")
        )
        output = WorkerRows(frame, make, schema).write(folder)
        if not output.files:
            return Files((), schema), None
        # Rows of single files are not known, so the first file stands for all. The next
        # step groups the rows again.
        written = tuple(
            (name, f"{folder}/{name}", 0 if number else output.rows)
            for number, name in enumerate(output.files)
        )
        filesystem, path = fsspec.core.url_to_fs(folder)
        dataset = ds.dataset(
            [f"{path}/{name}" for name in output.files], filesystem=filesystem, format="parquet"
        )
        return Files(written, schema), dataset

    def write_table(self, run_dir: RunFiles, name: str, rows: Files) -> int:
        run_dir.outputs[name] = Output(rows.rows, self._names(rows))
        return rows.rows

    def write_ordered(self, run_dir: RunFiles, name: str, rows: Files, schema: pa.Schema) -> int:
        return self.write_table(run_dir, name, rows)

    def write_state(self, run_dir: RunFiles, name: str, rows: Sequence[Files]) -> int:
        run_dir.state[name] = tuple(file for part in rows for file in self._names(part))
        return sum(part.rows for part in rows)

    def _names(self, rows: Files) -> tuple[str, ...]:
        return tuple(file.removeprefix(f"{self.uri}/") for file in rows.addresses)


def _tasks(rows: int, rows_a_task: int) -> int:
    return max(LEAST_TASKS, min(MOST_TASKS, rows // rows_a_task + 1))


@contextmanager
def spark_engine(app_name: str, attempt: str, uri: str) -> Iterator[SparkEngine]:
    with session_of_attempt(app_name, attempt) as session:
        ship_code(session)
        with SparkEngine(session, uri) as engine:
            yield engine
