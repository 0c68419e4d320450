"""Sum up the checkpoints of each job over the hours and days with new facts.

Reads the rows of commits after --from in the lake's table of checkpoint facts, then all rows of
their jobs and days: few rows in this process, others with Spark. Writes the changed hours and days
and, last, the manifest.
"""

import argparse
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from ingest.errors import Refused
from ingest.lake.derived import CHECKPOINT_FACTS
from ingest.lake.reader import LakeReader
from spark_jobs.job_arguments import add_most_rows, add_run, interrupt_attempts, lake_at
from spark_jobs.manifest import Output
from spark_jobs.paths import absolute_root, is_local
from spark_jobs.progress import say, say_rows
from spark_jobs.run_files import RunFiles
from spark_jobs.serving import CHECKPOINT_ROLLUP
from spark_jobs.small.rows import SmallLake, TooLarge
from spark_jobs.small.tables import group_rows, map_rows
from spark_jobs.spans import floor, merge_spans
from spark_jobs.steps.rollups import NEW, ROLLUP, rollup_batches

JOB = "rollups"
TABLE = CHECKPOINT_FACTS.name
DAY = timedelta(days=1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument(
        "--from",
        dest="from_seq",
        type=int,
        default=0,
        metavar="SEQ",
        help="last commit summed up before (default: 0)",
    )
    parser.add_argument(
        "--to",
        dest="to_seq",
        type=int,
        metavar="SEQ",
        help="last commit to read (default: all there are)",
    )
    add_most_rows(parser)


def run(args: argparse.Namespace) -> int:
    started = datetime.now(UTC)
    lake = lake_at(args)
    newest_seq = lake.version(TABLE)
    to_seq = newest_seq if args.to_seq is None else min(args.to_seq, newest_seq)
    if to_seq < args.from_seq:
        raise Refused(
            f"Lake table {TABLE} is at commit {to_seq}, before {args.from_seq}; was it replaced? "
            "Start with --from 0."
        )
    run_dir = RunFiles(absolute_root(args.run_dir))
    if lake.files(TABLE, after_seq=args.from_seq, up_to_seq=to_seq):
        interrupt_attempts(args.interrupt)
        clock = time.monotonic()
        name = CHECKPOINT_ROLLUP.name
        say_rows(name, run_dir.take_table(name, _roll_up(lake, args, to_seq, run_dir)), clock)
    seqs = {TABLE: args.from_seq}, {TABLE: to_seq}
    say(f"wrote {run_dir.write_manifest(JOB, args.attempt, started, *seqs)}")
    return 0


def _roll_up(lake: LakeReader, args: argparse.Namespace, to_seq: int, run_dir: RunFiles) -> Output:
    folder = f"tables/{CHECKPOINT_ROLLUP.name}"
    if args.most_rows_without_spark and is_local(lake.root, run_dir.uri):
        with suppress(TooLarge):
            small = SmallLake(lake, {TABLE: to_seq}, args.most_rows_without_spark)
            new = small.new_rows(TABLE, {TABLE: args.from_seq}).select(list(NEW))
            days = merge_spans(
                (start, start + DAY)
                for start in {floor(at, DAY) for at in new["trigger_time"].drop_null().to_pylist()}
            )
            rows = group_rows({"new": new, "kept": small.rows_in(TABLE, days)})
            return run_dir.write_rows(folder, map_rows(rows, rollup_batches, ROLLUP))
    # Importing Spark takes longer than most runs.
    from spark_jobs.jobs.roll_up import roll_up

    return roll_up(lake, args.from_seq, to_seq, run_dir.uri, folder, args.attempt)
