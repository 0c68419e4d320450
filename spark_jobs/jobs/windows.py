"""Print what the rules would read: every job window of a lake as one JSON object a line.

For people who write rules: `registry.diagnose(window_from_plain(json.loads(line)))` judges a line
without Spark. Nothing is loaded, and no run is made.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ingest.lake.reader import LakeReader
from spark_jobs.diagnosis.plain import window_to_plain
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.job_arguments import add_lake, lake_at
from spark_jobs.jobs.recompute import Recompute
from spark_jobs.lake import pin
from spark_jobs.paths import hadoop_path
from spark_jobs.run_dir import RunDir
from spark_jobs.session import open_session
from spark_jobs.transforms import folding
from spark_jobs.transforms.fold_batches import fold_group, jobs_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lake(parser)
    parser.add_argument("--cluster", metavar="NAME", help="only of this cluster")
    parser.add_argument("--job", metavar="ID", help="only of this job")
    parser.add_argument("--out", metavar="FILE", help="where to write (default: standard output)")


def run(args: argparse.Namespace) -> int:
    lake = lake_at(args)
    with ExitStack() as stack:
        out: TextIO = (
            stack.enter_context(Path(args.out).open("w", encoding="utf-8"))
            if args.out
            else sys.stdout
        )
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-windows-"))
        session = open_session("weir windows")
        stack.callback(session.stop)
        for window in windows_of(session, lake, scratch, args.cluster, args.job):
            print(
                json.dumps(window_to_plain(window), ensure_ascii=False, separators=(",", ":")),
                file=out,
            )
    return 0


def windows_of(
    session: SparkSession,
    lake: LakeReader,
    scratch: str,
    cluster: str | None = None,
    job_id: str | None = None,
) -> Iterator[JobWindow]:
    """All job windows of a lake, by cluster, job and time."""
    recompute = Recompute(pin(session, lake), None, RunDir(scratch))
    chosen = {name: rows.where(_chosen(cluster, job_id)) for name, rows in recompute.parts.items()}
    job_windows: list[JobWindow] = []
    folding.in_order(chosen).write.parquet(hadoop_path(f"{scratch}/in-order"))
    files = sorted(Path(scratch, "in-order").glob("*.parquet"))
    for group in jobs_of(batch for file in files for batch in pq.ParquetFile(file).iter_batches()):
        if group.key[1] is not None:
            result = fold_group(group, Settings())
            job_windows += result.windows if isinstance(result, JobResult) else ()
    yield from sorted(
        job_windows, key=lambda window: (window.cluster, window.job_id, window.window_start_ms)
    )


def _chosen(cluster: str | None, job_id: str | None) -> Any:  # a column, classic or Connect
    wanted = F.lit(True)
    for name, value in (("cluster", cluster), ("job_id", job_id)):
        wanted = wanted & (F.col(name) == value) if value else wanted
    return wanted
