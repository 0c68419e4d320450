"""The directory of an attempt, and the previous run's state."""

from collections.abc import Sequence
from dataclasses import dataclass

import fsspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ingest.parquet_stream import ParquetStream
from spark_jobs.manifest import Manifest, Output
from spark_jobs.paths import absolute_root, hadoop_path, without_globs
from spark_jobs.run_files import RunFiles
from spark_jobs.worker_rows import WorkerRows

VERIFIED = {"parquet.page.verify-checksum.enabled": "true"}
"""Spark verifies page checksums only on request; a page with a flipped byte may still decode."""


@dataclass(frozen=True)
class RunDir(RunFiles):
    def write_table(self, name: str, frame: DataFrame, unrepeated: Sequence[str] = ()) -> int:
        """Returns the number of rows. ``unrepeated`` values are mostly unique."""
        self.outputs[name] = self._write(frame, f"tables/{name}", unrepeated)
        return self.outputs[name].rows

    def write_by_workers(self, rows: WorkerRows, folder: str) -> Output:
        output = rows.write(f"{self.uri}/{folder}")
        return Output(output.rows, tuple(f"{folder}/{name}" for name in output.files))

    def read_frame(self, session: SparkSession, output: Output, schema: T.StructType) -> DataFrame:
        files = [without_globs(f"{hadoop_path(self.uri)}/{file}") for file in output.files]
        return (
            session.read.schema(schema).parquet(*files)
            if files
            else session.createDataFrame([], schema)
        )

    def write_state(self, name: str, frame: DataFrame) -> int:
        output = self._write(frame, f"state/{name}")
        self.state[name] = output.files
        return output.rows

    def _write(self, frame: DataFrame, folder: str, unrepeated: Sequence[str] = ()) -> Output:
        options = {f"parquet.enable.dictionary#{column}": "false" for column in unrepeated}
        frame.write.mode("overwrite").options(**options).parquet(
            f"{hadoop_path(self.uri)}/{folder}"
        )
        filesystem, root = fsspec.core.url_to_fs(f"{self.uri}/{folder}")
        rows, files = 0, []
        for path in sorted(filesystem.ls(root, detail=False)):
            name = str(path).rsplit("/", 1)[-1]
            if name.endswith(".parquet"):
                with filesystem.open(path, "rb") as file:
                    file_rows = ParquetStream(file).metadata.num_rows
                # Readers of state and stages take the schema of an empty file.
                if file_rows or not folder.startswith("tables/"):
                    files.append(f"{folder}/{name}")
                rows += file_rows
        return Output(rows, tuple(files))


@dataclass(frozen=True)
class PreviousState:
    session: SparkSession
    previous: Manifest | None

    def frame(self, name: str, empty: DataFrame) -> DataFrame:
        """The state ``name``, else ``empty``, in the columns of ``empty``; columns that another
        version of Weir did not write are null.
        """
        files = self.previous.state.get(name, ()) if self.previous else ()
        if not files or self.previous is None:
            return empty.limit(0)
        base = hadoop_path(absolute_root(self.previous.run_dir))
        return (
            self.session.read.options(**VERIFIED)
            .schema(empty.schema)
            .parquet(*(without_globs(f"{base}/{file}") for file in files))
        )
