"""The directory of one attempt: frames in, Parquet files and their counts out; carried frames back in."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import fsspec
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake import absolute_root, hadoop_path, without_globs
from spark_jobs.manifest import Manifest, Output


@dataclass(frozen=True)
class RunDir:
    """``uri`` is absolute: a Connect server would take a relative one for a folder of its own."""

    uri: str
    outputs: dict[str, Output] = field(default_factory=dict)
    state: dict[str, tuple[str, ...]] = field(default_factory=dict)
    retracted: dict[str, Output] = field(default_factory=dict)

    def write_table(self, name: str, frame: DataFrame, unrepeated: Sequence[str] = ()) -> int:
        """Write a serving table; returns its number of rows. Values of ``unrepeated`` columns are each there once."""
        self.outputs[name] = self._write(frame, f"tables/{name}", unrepeated)
        return self.outputs[name].rows

    def write_retracted(self, name: str, keys: DataFrame) -> int:
        """Write keys of rows that must go; returns how many."""
        output = self._write(keys, f"retracted/{name}")
        if output.rows:
            self.retracted[name] = output
        return output.rows

    def write_state(self, name: str, frame: DataFrame) -> int:
        """Write a snapshot that the next run starts from; returns its number of rows."""
        output = self._write(frame, f"state/{name}")
        self.state[name] = output.files
        return output.rows

    def copy_state(self, previous: Manifest) -> None:
        """Take over what another run left, file by file: its directory may be removed."""
        for name in previous.state:
            self.copy_snapshot(previous, name)

    def copy_snapshot(self, previous: Manifest, name: str) -> None:
        """Take over one snapshot; none where the other run left none."""
        filesystem, target = fsspec.core.url_to_fs(self.uri)
        _, source = fsspec.core.url_to_fs(previous.run_dir)
        for file in previous.state.get(name, ()):
            filesystem.makedirs(f"{target}/{file}".rsplit("/", 1)[0], exist_ok=True)
            filesystem.cp_file(f"{source}/{file}", f"{target}/{file}")
        if name in previous.state:
            self.state[name] = previous.state[name]

    def _write(self, frame: DataFrame, folder: str, unrepeated: Sequence[str] = ()) -> Output:
        # Parquet would look for repetitions in them, and write them plainly after all.
        options = {f"parquet.enable.dictionary#{column}": "false" for column in unrepeated}
        frame.write.mode("overwrite").options(**options).parquet(f"{hadoop_path(self.uri)}/{folder}")
        filesystem, root = fsspec.core.url_to_fs(f"{self.uri}/{folder}")
        rows, files = 0, []
        for path in sorted(filesystem.ls(root, detail=False)):
            name = str(path).rsplit("/", 1)[-1]
            if name.endswith(".parquet"):
                with filesystem.open(path, "rb") as file:
                    held = pq.ParquetFile(file).metadata.num_rows
                # A snapshot keeps an empty file for its schema; a table has no use for one.
                if held or folder.startswith("state/"):
                    files.append(f"{folder}/{name}")
                rows += held
        return Output(rows, tuple(files))


@dataclass(frozen=True)
class Carried:
    """State of the last complete run, or of none."""

    session: SparkSession
    previous: Manifest | None

    def frame(self, name: str, otherwise: DataFrame) -> DataFrame:
        """The snapshot ``name``; rows of none, shaped like ``otherwise``, where no run left one.

        A snapshot of another shape (left by another version of Weir) is read by the names it shares.
        """
        files = self.previous.state.get(name, ()) if self.previous else ()
        if not files or self.previous is None:
            return otherwise.limit(0)
        base = hadoop_path(absolute_root(self.previous.run_dir))
        return self.session.read.schema(otherwise.schema).parquet(*(without_globs(f"{base}/{file}") for file in files))
