from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.parquet_stream import open_parquet
from spark_jobs import manifest as manifests
from spark_jobs.manifest import Manifest, Output
from spark_jobs.nested_tables import RETRACTED, ROWS
from spark_jobs.serving import CHECKPOINT_FACT

JOB_STATE = "jobs_with_losses"
"""State of each job; only runs of older versions of Weir lack it."""
EXECUTIONS = "executions"
"""State: where each attempt of a subtask ran."""
LIVES = "taskmanager_lives"


@dataclass(frozen=True)
class RunFiles:
    uri: str
    outputs: dict[str, Output] = field(default_factory=dict)
    state: dict[str, tuple[str, ...]] = field(default_factory=dict)
    retracted: dict[str, Output] = field(default_factory=dict)
    _parts: Counter[str] = field(default_factory=Counter)

    def take_table(self, name: str, output: Output) -> int:
        earlier = self.outputs.get(name, Output(0))
        self.outputs[name] = Output(earlier.rows + output.rows, (*earlier.files, *output.files))
        return output.rows

    def write_table_rows(self, name: str, rows: pa.Table) -> int:
        return self.take_table(name, self.write_rows(f"tables/{name}", rows))

    def take_state(self, name: str, output: Output) -> int:
        self.state[name] = (*self.state.get(name, ()), *output.files)
        return output.rows

    def take_jobs(self, output: Output) -> int:
        """Adds files with the nested rows of some jobs (``spark_jobs.nested_tables``). Returns the
        number of jobs.
        """
        for file in output.files:
            for batch in self.read([file], [ROWS]):
                for table, counts in zip(batch[ROWS].type, batch[ROWS].flatten(), strict=True):
                    self._count(table.name, pc.sum(counts).as_py() or 0, file)
        return self.take_state(JOB_STATE, output)

    def _count(self, table: str, rows: int, file: str) -> None:
        if not rows:
            return
        outputs, name = self.outputs, table
        if table == RETRACTED.name:
            outputs, name = self.retracted, CHECKPOINT_FACT.name
        earlier = outputs.get(name, Output(0))
        files = tuple(dict.fromkeys((*earlier.files, file)))
        outputs[name] = Output(earlier.rows + rows, files)

    def read(self, files: Iterable[str], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for file in files:
            with open_parquet(f"{self.uri}/{file}") as parquet:
                yield from parquet.iter_batches(columns=list(columns))

    def copy_state(self, previous: Manifest) -> None:
        """Copy another run's state; its directory may be deleted later."""
        for name in previous.state:
            self.copy_snapshot(previous, name)

    def copy_snapshot(self, previous: Manifest, name: str) -> None:
        filesystem, target = fsspec.core.url_to_fs(self.uri)
        _, source = fsspec.core.url_to_fs(previous.run_dir)
        for file in previous.state.get(name, ()):
            filesystem.makedirs(f"{target}/{file}".rsplit("/", 1)[0], exist_ok=True)
            filesystem.cp_file(f"{source}/{file}", f"{target}/{file}")
        if name in previous.state:
            self.state[name] = previous.state[name]

    def write_manifest(
        self,
        job: str,
        attempt: str,
        started_at: datetime,
        from_seq: dict[str, int],
        to_seq: dict[str, int],
    ) -> str:
        """Ends the run; returns the address of its manifest."""
        manifest = Manifest(
            job,
            attempt,
            from_seq,
            to_seq,
            self.outputs,
            self.state,
            started_at,
            datetime.now(UTC),
            self.retracted,
        )
        return manifests.write(manifest, self.uri)

    def write_rows(self, folder: str, rows: pa.Table) -> Output:
        if not rows.num_rows:
            return Output(0)
        filesystem, root = fsspec.core.url_to_fs(self.uri)
        filesystem.makedirs(f"{root}/{folder}", exist_ok=True)
        path = f"{folder}/part-{self._parts[folder]:05}.parquet"
        self._parts[folder] += 1
        with filesystem.open(f"{root}/{path}", "wb") as handle:
            pq.write_table(rows, handle, write_page_checksum=True)
        return Output(rows.num_rows, (path,))
