"""The storage audit: 10 M listed files of which 1 M are referred to, files a second, and the memory
of the JVM and its Python workers; from 1 M it must grow in line.

The whole job is timed, from listing and parsed references to the written verdicts, as a second
audit that carries on from a first one. ``WEIR_BENCH_AUDIT_FILES`` makes it smaller or larger. The
baseline is a plain set difference of the same paths in Python, which needs too much memory for many
more.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from ingest.lake.derived import READ_BY_SPARK
from ingest.lake.derived_commits import staged_commit
from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from ingest.metadata.reader import READER_VERSION
from ingest.storage.snapshots import SCHEMA as LISTING
from spark_jobs import audit_request
from spark_jobs import manifest as manifests
from spark_jobs.audit_locally import LocalEngine
from spark_jobs.audit_on_spark import SparkEngine
from spark_jobs.jobs.audit import JOB, AuditRun
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import RunFiles
from spark_jobs.session import open_session
from tests.bench.harness import Report
from tests.bench.processes import family, resident

FILES = int(os.environ.get("WEIR_BENCH_AUDIT_FILES", 10_000_000))
REFERRED_SHARE = 10
FILES_A_JOB = 2_000
FILES_A_PART = 500_000
MOST_COMPARED = 20_000_000
DRIVER_TAKES = "64m"
LEAST_FILES_PER_S = 80_000
MOST_GIGABYTES = 6
ROOT = "hdfs://nameservice1/flink/checkpoints/prod"
AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
WRITTEN = AT - timedelta(days=30)


def run(report: Report) -> None:
    os.environ["SPARK_MASTER"] = "local[2]"
    os.environ.setdefault("WEIR_SPARK_DRIVER_MEMORY", "3g")
    with tempfile.TemporaryDirectory() as folder:
        # What is sent to the driver, to be collected or broadcast, may not grow with files: more
        # than this ends the run.
        session = open_session("weir-bench", options={"spark.driver.maxResultSize": DRIVER_TAKES})
        try:
            whole = Bench(Path(folder, "whole"), FILES, session)
            if FILES <= MOST_COMPARED:
                small_s = Bench(Path(folder, "small"), max(FILES // 10, 1), session).seconds()
                plain_s = whole.plain_seconds()
            with PeakMemory() as memory:
                first_s, first = whole.first()
                report(f"audit, {FILES:,} files, the first one", FILES / first_s, "files/s")
                whole_s = whole.second(first)
        finally:
            session.stop()
    report(f"audit, {FILES:,} files listed", FILES / whole_s, "files/s", at_least=LEAST_FILES_PER_S)
    report("audit, memory of JVM and workers", memory.gigabytes, "GB", budget=MOST_GIGABYTES)
    if FILES <= MOST_COMPARED:
        report("audit, against a set difference in Python", whole_s, "s", baseline=plain_s)
        report("audit, ten times the files", whole_s / 10, "s", baseline=small_s, budget=1.3)


class PeakMemory(Thread):
    """Of all processes that this one started, resident at one time."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.gigabytes = 0.0
        self._ended = Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        while not self._ended.wait(1):
            pids = set(family([os.getpid()])) - {os.getpid()}
            self.gigabytes = max(self.gigabytes, sum(map(resident, pids)) / 1e9)


class Bench:
    """One size: what is on disk before the clock starts, and the clock."""

    def __init__(self, folder: Path, files: int, session: SparkSession | None = None) -> None:
        self.session, self.folder, self.files = session, folder, files
        (folder / "listing").mkdir(parents=True)
        for part, first in enumerate(range(0, files, FILES_A_PART)):
            rows = np.arange(first, min(first + FILES_A_PART, files))
            pq.write_table(
                listing(rows), folder / "listing" / f"part-{part}.parquet", compression="zstd"
            )
        self.jobs = files // FILES_A_JOB + 1
        pq.write_table(jobs(self.jobs), folder / "jobs.parquet")
        _commit(Lake(str(folder / "lake")), self.jobs, files)

    def seconds(self) -> float:
        return self.second(self.first()[1])

    def first(self) -> tuple[float, Manifest]:
        """With what the next audit carries on from."""
        started = time.monotonic()
        manifest = self._audit("first", AT - timedelta(days=4), None)
        return time.monotonic() - started, manifest

    def second(self, first: Manifest) -> float:
        started = time.monotonic()
        self._audit("second", AT, first)
        return time.monotonic() - started

    def plain_seconds(self) -> float:
        """Reading the same paths and taking one set from the other."""
        started = time.monotonic()
        listed = set(pq.read_table(self.folder / "listing", columns=["path"])["path"].to_pylist())
        named = {
            path
            for job in range(self.jobs)
            for path in paths_of(referred(job, self.files)).to_pylist()
        }
        assert (
            len(listed - named) >= self.files * (REFERRED_SHARE - 1) // REFERRED_SHARE - self.jobs
        )
        return time.monotonic() - started

    def _audit(self, name: str, as_of: datetime, previous: Manifest | None) -> Manifest:
        root = {
            "uri": ROOT,
            "listing": str(self.folder / "listing" / "part-*.parquet"),
            "clusters": ["c"],
            "attested": True,
        }
        asked = {
            "audit_id": name,
            "as_of": as_of.isoformat(),
            "roots": [root],
            "jobs": str(self.folder / "jobs.parquet"),
        }
        run_dir = RunFiles(str(self.folder / name))
        with (
            SparkEngine(self.session, run_dir.uri)
            if self.session
            else nullcontext(LocalEngine()) as engine
        ):
            AuditRun(
                engine,
                Lake(str(self.folder / "lake")),
                run_dir,
                (audit_request.audit_of(asked),),
                [previous] if previous else [],
            ).run()
        assert run_dir.outputs["storage_live"].rows >= self.files // REFERRED_SHARE
        if previous:
            assert (
                run_dir.outputs["storage_file"].rows
                >= self.files * (REFERRED_SHARE - 1) // REFERRED_SHARE - self.jobs
            )
        manifests.write(
            Manifest(JOB, name, {}, {}, run_dir.outputs, run_dir.state, as_of, as_of), run_dir.uri
        )
        return manifests.read(f"{run_dir.uri}/{manifests.NAME}")


def paths_of(files: np.ndarray) -> pa.Array:
    """The first file of each job is the ``_metadata`` of its one checkpoint, all others lie in
    ``shared/``.
    """
    files = files.astype(np.uint64)
    mixed, number = _hexadecimal(files * np.uint64(0x9E3779B97F4A7C15)), _hexadecimal(files)
    name = f"/shared/{'0' * 8}-{'0' * 4}-{'0' * 4}-0000-{'0' * 12}".encode()
    names = np.tile(np.frombuffer(name, np.uint8), (len(files), 1))
    begin = len("/shared/")
    for at, digits in ((0, mixed[:, :8]), (9, mixed[:, 8:12]), (14, mixed[:, 12:])):
        names[:, begin + at : begin + at + digits.shape[1]] = digits
    names[:, -12:] = number[:, 4:]
    is_metadata = pa.array(files % np.uint64(FILES_A_JOB) == 0)
    return pc.binary_join_element_wise(
        _directories(files),
        pc.if_else(is_metadata, "/chk-100/_metadata", _texts(names)),
        "",
    )


def job_ids(jobs: np.ndarray) -> pa.Array:
    numbers = (jobs + 1).astype(np.uint64)
    factors = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))
    return _texts(np.hstack([_hexadecimal(numbers * factor) for factor in factors]))


def referred(job: int, files: int) -> np.ndarray:
    first = job * FILES_A_JOB
    return np.arange(first + 1, min(first + FILES_A_JOB, files), REFERRED_SHARE)


def _directories(files: np.ndarray) -> pa.Array:
    jobs, at = np.unique(files // np.uint64(FILES_A_JOB), return_inverse=True)
    return pc.binary_join_element_wise(ROOT, job_ids(jobs), "/").take(pa.array(at))


def _hexadecimal(numbers: np.ndarray) -> np.ndarray:
    """Sixteen digits a row."""
    shifts = np.arange(60, -1, -4, np.uint64)
    digits = (numbers.astype(np.uint64)[:, None] >> shifts) & np.uint64(15)
    return np.frombuffer(b"0123456789abcdef", np.uint8)[digits]


def _texts(rows: np.ndarray) -> pa.Array:
    """A text of the bytes of each row."""
    ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])
    data = np.ascontiguousarray(rows)
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(ends), pa.py_buffer(data))


def listing(files: np.ndarray) -> pa.Table:
    paths, rows = paths_of(files), len(files)
    columns = {
        "root": pa.repeat(ROOT, rows),
        "path": paths,
        "listed_path": paths,
        "bytes": 1_000 + files % 1_000_000,
        "modified": pa.repeat(pa.scalar(WRITTEN, LISTING.field("modified").type), rows),
        "replication": pa.repeat(pa.scalar(3, LISTING.field("replication").type), rows),
    }
    return pa.table([columns[name] for name in LISTING.names], schema=LISTING)


def jobs(count: int) -> pa.Table:
    ids = job_ids(np.arange(count))
    return pa.table(
        {
            "cluster": pa.repeat("c", count),
            "job_id": ids,
            "name": ids,
            "terminal": pa.repeat(True, count),
            "seen": pa.repeat(True, count),
        }
    )


def _commit(lake: Lake, jobs: int, files: int) -> None:
    """References as an audit before would have kept them: the reader has a bench of its own."""
    schema = TABLES["references"].schema
    with staged_commit(lake, READ_BY_SPARK["references"].name) as (delta, version):
        batches = pa.RecordBatchReader.from_batches(
            schema, _references(schema, version, jobs, files)
        )
        write_deltalake(delta, batches, mode="append")


def _references(schema: pa.Schema, version: int, jobs: int, files: int) -> Iterator[pa.RecordBatch]:
    now = datetime.now(UTC)
    ids = job_ids(np.arange(jobs)).to_pylist()
    for job in range(jobs):
        if job * FILES_A_JOB >= files:
            return
        first = job * FILES_A_JOB
        named = referred(job, files)
        rows = len(named) + 1
        metadata, *others = paths_of(np.concatenate([[first], named])).to_pylist()
        same = {
            "metadata_path": metadata,
            "metadata_bytes": 1_000 + first % 1_000_000,
            "metadata_modified": WRITTEN,
            "reader_version": READER_VERSION,
            "job_id": ids[job],
            "checkpoint_id": 100,
            "format_version": 4,
            "cluster": "",
            "observed_at": now,
            "source": "metadata",
            "commit_seq": version,
            "date": now.date(),
        }
        own = {
            "ordinal": list(range(rows)),
            "path": [None, *others],
            "written_path": [None, *others],
            "size_bytes": [None] + [1_000] * (rows - 1),
        }
        own["handles"] = [rows - 1] + [None] * (
            rows - 1
        )  # by which an audit knows that it has them all
        columns = [
            pa.array(own[field.name], field.type)
            if field.name in own
            else pa.repeat(pa.scalar(same.get(field.name), field.type), rows)
            for field in schema
        ]
        yield pa.record_batch(columns, schema=schema)
