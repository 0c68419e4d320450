"""Turn what is new in the lake into serving tables: checkpoint facts, pressure, trends, events,
verdicts.

Reads the rows of commits after the previous run, groups them by job together with the job's
remembered state, and folds them: few rows in this process, others with Spark. Writes the serving
tables, the state for the next run and, last, the manifest. Then keeps the checkpoint facts in the
lake; ``rollups`` sums them up over hours and days.

Without --request, rules use their default thresholds. A request sets thresholds for all jobs, one
cluster or one job, and names the newest retained checkpoints that an audit found incomplete:

  {"thresholds": [{"key": "checkpoint.expired.look_back_s", "value": 3600, "cluster": "c"}],
   "recovery_points": [{"cluster": "c", "job_id": "…", "checkpoint_id": 7, "audited_at_ms": 1,
                        "missing_files": 2}]}
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from ingest.errors import Refused
from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.reader import LakeReader
from spark_jobs import cycle_request, previous_run, slices
from spark_jobs import manifest as manifests
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.job_arguments import add_most_rows, add_run, interrupt_attempts, lake_at
from spark_jobs.kept_facts import keep
from spark_jobs.manifest import Manifest, Output
from spark_jobs.paths import absolute_root, is_local
from spark_jobs.previous_run import PreviousLost
from spark_jobs.progress import say, say_rows
from spark_jobs.run_files import JOB_STATE, RunFiles
from spark_jobs.serving import SERVING_TABLES
from spark_jobs.small.cycle import SmallCycle, fits
from spark_jobs.small.parts import cluster_groups
from spark_jobs.small.rows import SmallLake, TooLarge
from spark_jobs.steps.cycle import Cycle

JOB = "cycle"
SPARK_SLICE_ROWS = 2_000_000
"""Rows of one run with Spark: minutes of work for one core."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument(
        "--previous",
        metavar="MANIFEST",
        help="manifest of the last complete run (default: start from the beginning)",
    )
    parser.add_argument(
        "--previous-to",
        default="",
        metavar="JSON",
        help="table → commit at which that run has to end (default: wherever)",
    )
    parser.add_argument(
        "--to",
        default="{}",
        metavar="JSON",
        help="table → last commit to read (default: all there are)",
    )
    add_most_rows(parser)
    parser.add_argument(
        "--oldest-first",
        choices=("yes", "no"),
        default="no",
        help=(
            "take only as many of the oldest commits as are few enough, without Spark where the "
            "lake lies on this machine"
        ),
    )
    parser.add_argument(
        "--request", metavar="FILE", help="JSON: thresholds and recovery points (default: none)"
    )


def run(args: argparse.Namespace) -> int:
    started = datetime.now(UTC)
    lake = lake_at(args)
    previous = (
        previous_run.read(args.previous, _commits(args.previous_to, "--previous-to"))
        if args.previous
        else None
    )
    if previous and previous.state and JOB_STATE not in previous.state:
        raise PreviousLost(
            f"What run {previous.attempt} remembers is of an earlier version of Weir."
        )
    if previous:
        # The process of that run may have been killed before it kept its facts.
        keep(lake, previous)
    from_seq = {table: previous.to_seq.get(table, 0) if previous else 0 for table in CYCLE_TABLES}
    to_seq = _to_seq(args.to, lake, from_seq)
    run_dir = RunFiles(absolute_root(args.run_dir))
    settings = cycle_request.read(absolute_root(args.request)) if args.request else Settings()
    if to_seq != from_seq and args.oldest_first == "yes":
        to_seq = _oldest_slice(lake, from_seq, to_seq, args)
    if to_seq != from_seq:
        with previous_run.lost_if_damaged(previous):
            run_dir = _fold_new_rows(
                _CycleInputs(lake, from_seq, to_seq, previous, run_dir.uri, settings), args
            )
    elif previous:
        run_dir.copy_state(previous)
    for name in SERVING_TABLES:
        run_dir.outputs.setdefault(name, Output(0))
    path = run_dir.write_manifest(JOB, args.attempt, started, from_seq, to_seq)
    keep(lake, manifests.read(path))
    say(f"wrote {path}")
    return 0


@dataclass(frozen=True)
class _CycleInputs:
    lake: LakeReader
    from_seq: dict[str, int]
    to_seq: dict[str, int]
    previous: Manifest | None
    run_dir: str
    settings: Settings


def _fold_new_rows(cycle: _CycleInputs, args: argparse.Namespace) -> RunFiles:
    if args.oldest_first == "yes" and _can_run_without_spark(args):
        # An attempt that still runs on Spark may continue: its output is not loaded.
        return _part_by_part(cycle, args.most_rows_without_spark)
    interrupt_attempts(args.interrupt)
    if args.most_rows_without_spark and fits(cycle.lake, cycle.previous, cycle.run_dir):
        try:
            run_dir = RunFiles(cycle.run_dir)
            small_lake = SmallLake(cycle.lake, cycle.to_seq, args.most_rows_without_spark)
            _run_small(cycle, small_lake, run_dir)
            return run_dir
        except TooLarge as reason:
            say(f"With Spark: {reason}")
    return _with_spark(cycle, args.attempt)


def _run_small(cycle: _CycleInputs, lake: SmallLake, run_dir: RunFiles) -> None:
    _say_steps(SmallCycle(lake, cycle.previous, run_dir, cycle.settings))


def _say_steps(cycle: Cycle) -> None:
    clock = time.monotonic()
    for name, rows in cycle.steps():
        say_rows(name, rows, clock)


def _oldest_slice(
    lake: LakeReader, from_seq: dict[str, int], to_seq: dict[str, int], args: argparse.Namespace
) -> dict[str, int]:
    most_rows = args.most_rows_without_spark if _can_run_without_spark(args) else SPARK_SLICE_ROWS
    slice_end = slices.oldest(lake, from_seq, to_seq, most_rows)
    if slice_end != to_seq:
        left = sum(to_seq[table] - slice_end[table] for table in to_seq)
        say(
            f"The oldest commits are taken alone, with {most_rows:,} rows or the first one; {left} "
            "commits are left."
        )
    return slice_end


def _can_run_without_spark(args: argparse.Namespace) -> bool:
    return args.most_rows_without_spark > 0 and is_local(
        args.lake, args.run_dir, args.previous or ""
    )


def _part_by_part(cycle: _CycleInputs, most_rows: int) -> RunFiles:
    run_dir = RunFiles(cycle.run_dir)
    whole_lake = SmallLake(cycle.lake, cycle.to_seq, None)
    for clusters in cluster_groups(whole_lake, cycle.from_seq, cycle.previous, most_rows):
        _run_small(cycle, SmallLake(cycle.lake, cycle.to_seq, None, clusters), run_dir)
    return run_dir


def _with_spark(cycle: _CycleInputs, attempt: str) -> RunFiles:
    # Importing Spark takes longer than most cycles.
    from spark_jobs.jobs.recompute import Recompute
    from spark_jobs.lake import pin
    from spark_jobs.session import SMALL_INPUT_OPTIONS, configure, session_of_attempt
    from spark_jobs.shipping import ship_code

    clock = time.monotonic()
    run_dir = RunFiles(cycle.run_dir)
    with session_of_attempt(f"weir {JOB} {attempt}", attempt) as session:
        say(f"session of Spark {session.version} after {time.monotonic() - clock:.1f} s")
        pinned = pin(session, cycle.lake, cycle.to_seq)
        if pinned.is_small(cycle.from_seq):
            configure(session, SMALL_INPUT_OPTIONS)
        ship_code(session)
        _say_steps(Recompute(pinned, cycle.previous, run_dir, cycle.settings))
    return run_dir


def _to_seq(text: str, lake: LakeReader, from_seq: dict[str, int]) -> dict[str, int]:
    last = _commits(text, "--to") or {}
    to_seq = {
        table: min(last.get(table, sys.maxsize), lake.version(table)) for table in CYCLE_TABLES
    }
    if behind := [table for table in CYCLE_TABLES if to_seq[table] < from_seq[table]]:
        raise Refused(
            f"The lake is behind the previous run in {', '.join(behind)}; was it replaced? Start "
            "without --previous."
        )
    return to_seq


def _commits(text: str, option: str) -> dict[str, int] | None:
    try:
        commits = {str(table): int(seq) for table, seq in json.loads(text or "{}").items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise Refused(
            f'{option} must be a JSON object of table → commit, such as {{"checkpoints": 12}}.'
        ) from error
    if unknown := commits.keys() - CYCLE_TABLES.keys():
        raise Refused(
            f"{option} names tables the lake does not have: {', '.join(sorted(unknown))}."
        )
    return commits if text else None
