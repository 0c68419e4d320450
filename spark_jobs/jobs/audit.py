"""Say of every file in checkpoint storage whether something needs it, with proof.

Reads listings and what Weir knows of the jobs (--request), parses the _metadata that were listed on executors, and writes
a verdict on every file, what each checkpoint and job consists of, what is missing, and what is in doubt. The manifest is
written last. Nothing is deleted here.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import fsspec
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.errors import Refused
from ingest.lake.reader import LakeReader
from spark_jobs import audit_frames, audit_request, audit_size, audit_state, previous_run
from spark_jobs import manifest as manifests
from spark_jobs.audit_request import Audit
from spark_jobs.audit_tables import AUDIT_TABLES, STORAGE_FILE, STORAGE_LIVE, STORAGE_REFERENCE
from spark_jobs.in_process.session import in_process_session
from spark_jobs.job_arguments import add_attempt, add_lake, interrupt_attempts, lake_at
from spark_jobs.lake import SMALL_ROWS
from spark_jobs.manifest import Manifest
from spark_jobs.parsed_metadata import ParsedMetadata
from spark_jobs.paths import absolute_root, hadoop_path
from spark_jobs.progress import say
from spark_jobs.run_dir import Carried, RunDir
from spark_jobs.schemas import serving_columns
from spark_jobs.session import SMALL_INPUT_OPTIONS, configure, session_of_attempt
from spark_jobs.shipping import ship_code
from spark_jobs.storage import reading
from spark_jobs.storage.audit import Judged, judge
from spark_jobs.storage.inputs import Inputs
from spark_jobs.storage.ordering import by_path
from spark_jobs.storage_words import LIVE

JOB = "audit"
ROWS_A_TASK = 300_000
LEAST_TASKS, MOST_TASKS = 4, 4000
OPTIONS = {
    # What grows with files is never sent to the driver to be broadcast; jobs and roots are, where said so.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Kept files meet several frames: they are to stay partitioned as they are.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "false",
    # Kept files are mostly paths, each once: looking for repetitions in them takes longer than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
PATHS = ("path", "listed_path")
ROUNDS = 3
"""How often checkpoints that were replaced while they were read are looked for anew."""

_FILE_SIZED = ("files", "merged_files", "judged", "parsed", "references", "storage_reference", "resolved", "pending")
"""Frames with a row for each file or reference; all others grow with jobs and checkpoints only."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lake(parser)
    add_attempt(parser)
    parser.add_argument("--request", required=True, metavar="FILE", help="JSON: the roots, their listings, the jobs")
    parser.add_argument("--previous", metavar="MANIFEST", help="manifest of the last complete audit of these roots (default: none)")
    parser.add_argument("--fresh", action="store_true", help="parse every _metadata again, whatever the lake keeps of it")


def run(args: argparse.Namespace) -> int:
    """0 with a manifest, anything else without."""
    started = datetime.now(UTC)
    audits = audit_request.read(absolute_root(args.request), started)
    previous = previous_run.read(args.previous) if args.previous else None
    if previous and previous.job != JOB:
        raise Refused(f"{args.previous} is the manifest of a {previous.job} run; name that of an audit.")
    lake = lake_at(args)
    run_dir = RunDir(absolute_root(args.run_dir))
    interrupt_attempts(args.interrupt)
    with previous_run.blamed_where_damaged(previous):
        here = audit_size.fits_one_process(audits, previous, lake, run_dir.uri)
        with in_process_session() if here else session_of_attempt(f"weir {JOB} {args.attempt}", args.attempt) as session:
            if not here:
                ship_code(session)
            AuditRun(session, lake, run_dir, audits, previous, fresh=args.fresh, in_process=here).run()
    finished = Manifest(JOB, args.attempt, {}, {}, run_dir.outputs, run_dir.state, started, datetime.now(UTC))
    say(f"wrote {manifests.write(finished, run_dir.uri)}")
    return 0


@dataclass
class AuditRun:
    """Frames in, files of a run directory out."""

    session: SparkSession
    lake: LakeReader
    run_dir: RunDir
    audits: Sequence[Audit]
    previous: Manifest | None
    fresh: bool = False
    in_process: bool = False
    _kept: list[DataFrame] = field(default_factory=list, init=False)
    _clock: float = field(default_factory=time.monotonic, init=False)

    def run(self) -> None:
        try:
            self._run()
        finally:
            for frame in self._kept:
                frame.unpersist()
            self._remove_work()

    def _run(self) -> None:
        listing = audit_frames.listing_frame(self.session, self.audits)
        rows = listing.count()
        tasks = max(LEAST_TASKS, min(MOST_TASKS, rows // ROWS_A_TASK + 1))
        configure(self.session, OPTIONS | {"spark.sql.shuffle.partitions": str(tasks)})
        if rows <= SMALL_ROWS:
            configure(self.session, SMALL_INPUT_OPTIONS)
        self._say("listing", rows)
        roots = self._keep("roots", audit_frames.roots_frame(self.session, self.audits))
        read = self._read(listing, tasks)
        carried = Carried(self.session, self.previous)
        known, referred = audit_state.known_files(carried), audit_state.referred(carried)
        overlapping = self._keep("overlapping", audit_state.overlapping_roots(known, roots))
        jobs = audit_frames.jobs_frame(self.session, self.audits)
        inputs = Inputs(
            roots=roots,
            listing=listing,
            jobs=self._keep("jobs", reading.with_canonical_paths(jobs, audit_frames.spellings_of(self.audits))),
            references=self._keep("references", read.references),
            operators=self._keep("operators", read.operators),
            doubts=read.doubts.unionByName(audit_frames.unlisted_doubts(self.session, self.audits)),
            vanished=read.vanished,
            known_files=audit_state.of_audited(known, overlapping),
            referred=audit_state.of_audited_snapshots(referred, roots),
        )
        judged = judge(inputs, self._keep)
        self._write(judged, audit_state.of_others(known, overlapping), audit_state.of_other_snapshots(referred, roots))

    def _read(self, listing: DataFrame, tasks: int) -> reading.Read:
        """Listing comes before reading: what a listed checkpoint refers to was there before it."""
        wanted = self._keep("wanted", reading.wanted(listing))
        metadata = ParsedMetadata(self.session, self.lake, f"{self.run_dir.uri}/work", self._keep, fresh=self.fresh)
        parsed = self._keep("parsed", metadata.read(wanted, tasks))
        for _ in range(ROUNDS):
            found = self._keep("successors", reading.successors(parsed, wanted))
            if found.isEmpty():
                break
            wanted = wanted.unionByName(found)
            parsed = parsed.unionByName(metadata.read(found, tasks))
        self._say("_metadata", wanted.count())
        return reading.outcome(parsed, audit_frames.spellings_of(self.audits))

    def _write(self, judged: Judged, other_files: DataFrame, other_references: DataFrame) -> None:
        for name, frame in judged.tables.items():
            self._say(name, self.run_dir.write_table(name, serving_columns(frame, AUDIT_TABLES[name])))
        live = F.col("verdict") == LIVE
        others, live_files = by_path(judged.files.where(~live), sum(len(audit.roots) for audit in self.audits)), judged.files.where(live)
        for table, frame in ((STORAGE_FILE, others), (STORAGE_LIVE, live_files)):
            spelled = frame.withColumn("listed_path", F.coalesce("listed_path", "path"))
            self._say(table.name, self.run_dir.write_table(table.name, serving_columns(spelled, table), PATHS))
        self._say("storage_reference", self.run_dir.write_table("storage_reference", serving_columns(judged.references, STORAGE_REFERENCE)))
        # The next audit starts from the same files; only what no table holds is written besides.
        for name in ("storage_file", "storage_live", "storage_reference"):
            self.run_dir.state[name] = self.run_dir.outputs[name].files
        self.run_dir.write_state("storage_absent", judged.absent.select(*other_files.columns).unionByName(other_files))
        self.run_dir.write_state("storage_pending", judged.pending.select("metadata_path", "path").unionByName(other_references))

    def _keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Frames by file stay with the executors, partitioned as they are; small ones are files, which plans start from anew."""
        if name in _FILE_SIZED and not self.in_process:
            kept = frame.persist(StorageLevel.DISK_ONLY)
            self._kept.append(kept)
            return kept
        at = f"{hadoop_path(self.run_dir.uri)}/work/{name}-{len(self._kept)}-{time.monotonic_ns()}"
        frame.write.parquet(at)
        self._say(name)
        return self.session.read.schema(frame.schema).parquet(at)

    def _remove_work(self) -> None:
        filesystem, path = fsspec.core.url_to_fs(f"{self.run_dir.uri}/work")
        if filesystem.exists(path):
            filesystem.rm(path, recursive=True)

    def _say(self, name: str, rows: int | None = None) -> None:
        say(f"{name}:{'' if rows is None else f' {rows} rows,'} {time.monotonic() - self._clock:.1f} s")
