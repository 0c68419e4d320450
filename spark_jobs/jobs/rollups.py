"""Sum up the checkpoints of each job over hours and days: of those hours and days of which runs of the cycle told something.

Reads the rows that commits after --from brought to the lake's table of kept facts, then all rows of the jobs and days that they
touch; nothing is carried from run to run. Writes the hours and days that changed and, last, the manifest.
"""

import argparse
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from ingest.errors import Refused
from ingest.lake.derived import CHECKPOINT_FACTS
from ingest.lake.environment import lake_of
from ingest.lake.store import Lake
from spark_jobs import manifest as manifests
from spark_jobs.lake import SMALL_BYTES, SMALL_ROWS, PinnedLake
from spark_jobs.manifest import Manifest
from spark_jobs.places import absolute_root
from spark_jobs.run_dir import RunDir
from spark_jobs.serving import CHECKPOINT_ROLLUP
from spark_jobs.session import SMALL_INPUT_OPTIONS, configure, interrupt_attempt, session_of_attempt
from spark_jobs.signals import exits_on_sigterm
from spark_jobs.spans import Span
from spark_jobs.touched_spans import spans
from spark_jobs.transforms.instants import DAY_S, floor_to
from spark_jobs.transforms.rollups import PERIOD, by_period, newest, summed

JOB = "rollups"
TABLE = CHECKPOINT_FACTS.name
_DAY = ("cluster", "job_id", "day")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lake", required=True, metavar="ROOT", help="path or URI of the lake")
    parser.add_argument("--lake-options", default="", metavar="JSON", help="storage options (default: WEIR_LAKE_OPTIONS)")
    parser.add_argument("--run-dir", required=True, metavar="DIR", help="path or URI to write to; one for each attempt")
    parser.add_argument("--from", dest="from_seq", type=int, default=0, metavar="SEQ", help="last commit summed up before (default: 0)")
    parser.add_argument("--to", dest="to_seq", type=int, metavar="SEQ", help="last commit to read (default: all there are)")
    parser.add_argument("--attempt", required=True, metavar="TAG", help="name of this attempt, used once")
    parser.add_argument("--interrupt", action="append", default=[], metavar="TAG", help="an attempt that may still run on the server")


def run(args: argparse.Namespace) -> int:
    """0 with a manifest, anything else without."""
    with exits_on_sigterm():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    started = datetime.now(UTC)
    options = {"WEIR_LAKE_OPTIONS": args.lake_options} if args.lake_options else {}
    found = lake_of(args.lake, {**os.environ, **options})
    lake = Lake(absolute_root(found.root), found.storage_options)
    newest_seq = lake.version(TABLE)
    to_seq = newest_seq if args.to_seq is None else min(args.to_seq, newest_seq)
    if to_seq < args.from_seq:
        raise Refused(f"Lake table {TABLE} is at commit {to_seq}, before {args.from_seq}; was it replaced? Start with --from 0.")
    run_dir = RunDir(absolute_root(args.run_dir))
    if lake.files(TABLE, version=to_seq, after_seq=args.from_seq):
        for tag in args.interrupt:
            interrupt_attempt(tag)
        _roll_up(lake, args.from_seq, to_seq, run_dir, args.attempt)
    finished = Manifest(JOB, args.attempt, {TABLE: args.from_seq}, {TABLE: to_seq}, run_dir.outputs, {}, started, datetime.now(UTC))
    print(f"wrote {manifests.write(finished, run_dir.uri)}", flush=True)
    return 0


def _roll_up(lake: Lake, from_seq: int, to_seq: int, run_dir: RunDir, attempt: str) -> None:
    clock = time.monotonic()
    with session_of_attempt(f"weir {JOB} {attempt}", attempt) as session:
        pinned = PinnedLake(session, lake, {TABLE: to_seq})
        new = pinned.new_rows(TABLE, from_seq)
        days = spans(new, "trigger_time", DAY_S)
        if _is_small(pinned, days):
            configure(session, SMALL_INPUT_OPTIONS)
        rows = run_dir.write_table(CHECKPOINT_ROLLUP.name, rolled_up(new, pinned.rows_in(TABLE, days)))
        print(f"{CHECKPOINT_ROLLUP.name}: {rows} rows, {time.monotonic() - clock:.1f} s", flush=True)


def rolled_up(new: DataFrame, of_days: DataFrame) -> DataFrame:
    """New kept facts, and all that there are of the days that they touch → the hours and days that changed."""
    day = floor_to("trigger_time", DAY_S).alias("day")
    touched = new.select("cluster", "job_id", day).distinct()
    kept = of_days.select("*", day).join(touched, on=list(_DAY), how="left_semi").drop("day")
    return summed(newest(kept), by_period(new).select(*PERIOD).distinct())


def _is_small(pinned: PinnedLake, days: Sequence[Span]) -> bool:
    files = pinned.lake.files(TABLE, version=pinned.versions[TABLE], from_time=days[0][0], to_time=days[-1][1]) if days else []
    return sum(file.rows for file in files) <= SMALL_ROWS and sum(file.size_bytes for file in files) <= SMALL_BYTES
