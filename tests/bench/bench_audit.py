"""The storage audit: 10 M listed files of which 1 M are referred to, files a second; from 1 M it
must grow in line.

The whole job is timed, from listing and parsed references to the written verdicts, as a second
audit that carries on from a first one. ``WEIR_BENCH_AUDIT_FILES`` makes it smaller. The baseline is
a plain set difference of the same paths in Python.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
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
from spark_jobs.audit_here import Here
from spark_jobs.audit_on_spark import OnSpark
from spark_jobs.jobs.audit import JOB, AuditRun
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import RunFiles
from spark_jobs.session import open_session
from tests.bench.harness import Report

FILES = int(os.environ.get("WEIR_BENCH_AUDIT_FILES", 10_000_000))
REFERRED_SHARE = 10
FILES_A_JOB = 2_000
FILES_A_PART = 500_000
DRIVER_TAKES = "64m"
ROOT = "hdfs://nameservice1/flink/checkpoints/prod"
AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def run(report: Report) -> None:
    os.environ["SPARK_MASTER"] = "local[2]"
    os.environ.setdefault("WEIR_SPARK_DRIVER_MEMORY", "4g")
    with tempfile.TemporaryDirectory() as folder:
        # What is sent to the driver, to be collected or broadcast, may not grow with files: more
        # than this ends the run.
        session = open_session("weir-bench", options={"spark.driver.maxResultSize": DRIVER_TAKES})
        try:
            small = Bench(Path(folder, "small"), max(FILES // 10, 1), session)
            small_s = small.seconds()
            whole = Bench(Path(folder, "whole"), FILES, session)
            plain_s = whole.plain_seconds()
            whole_s = whole.seconds()
        finally:
            session.stop()
    report(f"audit, {FILES:,} files listed", FILES / whole_s, "files/s", at_least=50_000)
    report("audit, against a set difference in Python", whole_s, "s", baseline=plain_s)
    report("audit, ten times the files", whole_s / 10, "s", baseline=small_s, budget=1.3)


class Bench:
    """One size: what is on disk before the clock starts, and the clock."""

    def __init__(self, folder: Path, files: int, session: SparkSession | None = None) -> None:
        self.session, self.folder, self.files = session, folder, files
        (folder / "listing").mkdir(parents=True)
        for part, first in enumerate(range(0, files, FILES_A_PART)):
            rows = range(first, min(first + FILES_A_PART, files))
            pq.write_table(
                listing(rows), folder / "listing" / f"part-{part}.parquet", compression="zstd"
            )
        self.jobs = files // FILES_A_JOB + 1
        pq.write_table(jobs(self.jobs), folder / "jobs.parquet")
        _commit(Lake(str(folder / "lake")), self.jobs, files)

    def seconds(self) -> float:
        """Of the second audit; the first leaves what it carries on from."""
        first = self._audit("first", AT - timedelta(days=4), None)
        started = time.monotonic()
        self._audit("second", AT, first)
        return time.monotonic() - started

    def plain_seconds(self) -> float:
        """Reading the same paths and taking one set from the other."""
        started = time.monotonic()
        listed = set(pq.read_table(self.folder / "listing", columns=["path"])["path"].to_pylist())
        referred = {path for job in range(self.jobs) for path in referred_paths(job, self.files)}
        assert (
            len(listed - referred)
            >= self.files * (REFERRED_SHARE - 1) // REFERRED_SHARE - self.jobs
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
        with OnSpark(self.session, run_dir.uri) if self.session else nullcontext(Here()) as engine:
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


def path_of(file: int) -> str:
    """The first file of each job is the ``_metadata`` of its one checkpoint, all others lie in
    ``shared/``.
    """
    job, place = divmod(file, FILES_A_JOB)
    directory = f"{ROOT}/{job_id(job)}"
    if place == 0:
        return f"{directory}/chk-100/_metadata"
    mixed = f"{file * 0x9E3779B97F4A7C15 % 2**64:016x}"
    return f"{directory}/shared/{mixed[:8]}-{mixed[8:12]}-{mixed[12:]}-0000-{file:012x}"


def job_id(job: int) -> str:
    return f"{(job + 1) * 0x9E3779B97F4A7C15D1B54A32D192ED03 % 2**128:032x}"


def referred_paths(job: int, files: int) -> list[str]:
    first = job * FILES_A_JOB
    return [
        path_of(file) for file in range(first + 1, min(first + FILES_A_JOB, files), REFERRED_SHARE)
    ]


def listing(files: range) -> pa.Table:
    paths = [path_of(file) for file in files]
    written = AT - timedelta(days=30)
    columns = {
        "root": [ROOT] * len(paths),
        "path": paths,
        "listed_path": paths,
        "bytes": [1_000 + file % 1_000_000 for file in files],
    }
    of_files = {
        "modified": pa.array([written] * len(paths), pa.timestamp("ms", tz="UTC")),
        "replication": [3] * len(paths),
    }
    return pa.table(columns | of_files, schema=LISTING)


def jobs(count: int) -> pa.Table:
    ids = [job_id(job) for job in range(count)]
    return pa.table(
        {
            "cluster": ["c"] * count,
            "job_id": ids,
            "name": ids,
            "terminal": [True] * count,
            "seen": [True] * count,
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
    for job in range(jobs):
        if job * FILES_A_JOB >= files:
            return
        first = job * FILES_A_JOB
        paths = [None, *referred_paths(job, files)]
        rows = len(paths)
        same = {
            "metadata_path": path_of(first),
            "metadata_bytes": 1_000 + first % 1_000_000,
            "metadata_modified": AT - timedelta(days=30),
            "reader_version": READER_VERSION,
            "job_id": job_id(job),
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
            "path": paths,
            "written_path": paths,
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
