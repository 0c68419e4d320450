"""A cycle of any volume on Spark."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.arrow_schemas import Make
from spark_jobs.frames import parquet_frame, state_frame
from spark_jobs.lake import PinnedLake
from spark_jobs.nested_tables import JOB
from spark_jobs.schemas import spark_schema
from spark_jobs.spans import WINDOW, instant, windows_between
from spark_jobs.steps.cycle import Cycle, Parts, StoredRows
from spark_jobs.transforms import folding, group_windows
from spark_jobs.transforms.time_spans import floor_to, spans
from spark_jobs.worker_rows import WorkerRows

WINDOW_S = WINDOW // timedelta(seconds=1)


class Recompute(Cycle):
    lake: PinnedLake

    def _map(self, rows: DataFrame, make: Make, schema: pa.Schema) -> DataFrame:
        return WorkerRows(rows, make, schema).frame()

    def _group(self, parts: Parts, by: Sequence[str]) -> DataFrame:
        return folding.group_rows(parts, by)

    def _write(self, folder: str, rows: DataFrame, make: Make, schema: pa.Schema) -> StoredRows:
        output = WorkerRows(rows, make, schema).write_below(self.run_dir.uri, folder)
        files = [f"{self.run_dir.uri}/{file}" for file in output.files]
        return StoredRows(parquet_frame(self.lake.session, files, schema), output)

    def _from_rows(self, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> DataFrame:
        return self.lake.session.createDataFrame(
            [tuple(row[name] for name in schema.names) for row in rows], spark_schema(schema)
        )

    def _collect(self, rows: DataFrame) -> list[dict[str, Any]]:
        return list(rows.toArrow().to_pylist())

    def _has_values(self, rows: DataFrame, columns: Sequence[str]) -> bool:
        return not rows.where(" or ".join(f"{name} is not null" for name in columns)).isEmpty()

    def _bounds(self, rows: DataFrame, column: str) -> tuple[datetime, datetime]:
        first, last = rows.agg(
            F.unix_seconds(F.min(column)), F.unix_seconds(F.max(column))
        ).collect()[0]
        return instant(first), instant(last)

    def _select_jobs(self, rows: DataFrame, jobs: DataFrame) -> DataFrame:
        return rows.join(F.broadcast(jobs.select(*JOB)), on=list(JOB), how="left_semi")

    def _samples_of_touched_windows(self, new: DataFrame) -> DataFrame:
        close_windows = windows_between(self.lake.times_of_new("vertex_metrics", self.from_seq))
        if close_windows is not None:
            return self.lake.rows_in("vertex_metrics", close_windows)
        # The times are far apart: only samples of the same vertices and windows are shuffled.
        window = [*JOB, "vertex_id", "window_start"]
        start = floor_to("ts", WINDOW_S).alias("window_start")
        touched = new.select(*JOB, "vertex_id", start).distinct()
        rows = self.lake.rows_in("vertex_metrics", spans(new, "ts", WINDOW_S)).withColumn(
            "window_start", start
        )
        return rows.join(touched, on=window, how="left_semi").drop("window_start")

    def _mark_new(self, samples: DataFrame, after_seq: int) -> DataFrame:
        is_new = (F.col("commit_seq") > after_seq).alias(group_windows.IS_NEW)
        return samples.where("ts is not null").select(*group_windows.SAMPLE, is_new)

    def _read_state(self, name: str, schema: pa.Schema, required: str | None = None) -> DataFrame:
        rows = state_frame(self.lake.session, self.previous, name, schema)
        return rows.where(F.col(required).isNotNull()) if required else rows
