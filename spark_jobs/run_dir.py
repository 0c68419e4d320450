"""The directory of one attempt of a Spark job."""

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
"""Readers verify checksums only on request; a flipped byte may still unpack."""


@dataclass(frozen=True)
class RunDir(RunFiles):
    def write_table(self, name: str, frame: DataFrame, unrepeated: Sequence[str] = ()) -> int:
        """Returns its number of rows. Values of ``unrepeated`` columns are unique."""
        self.outputs[name] = self._write(frame, f"tables/{name}", unrepeated)
        return self.outputs[name].rows

    def write_by_workers(self, rows: WorkerRows, folder: str) -> Output:
        written = rows.written(f"{self.uri}/{folder}")
        return Output(written.rows, tuple(f"{folder}/{name}" for name in written.files))

    def written(self, session: SparkSession, output: Output, schema: T.StructType) -> DataFrame:
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
        # Parquet would build a dictionary for them in vain.
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
                    held = ParquetStream(file).metadata.num_rows
                # A snapshot and a stage need an empty file for its schema; a table does not.
                if held or not folder.startswith("tables/"):
                    files.append(f"{folder}/{name}")
                rows += held
        return Output(rows, tuple(files))


@dataclass(frozen=True)
class Carried:
    """State of the last complete run, or of none."""

    session: SparkSession
    previous: Manifest | None

    def frame(self, name: str, otherwise: DataFrame) -> DataFrame:
        """The snapshot ``name``; without one, an empty frame like ``otherwise``, whose columns are
        read of a snapshot of another version of Weir.
        """
        files = self.previous.state.get(name, ()) if self.previous else ()
        if not files or self.previous is None:
            return otherwise.limit(0)
        base = hadoop_path(absolute_root(self.previous.run_dir))
        return (
            self.session.read.options(**VERIFIED)
            .schema(otherwise.schema)
            .parquet(*(without_globs(f"{base}/{file}") for file in files))
        )
