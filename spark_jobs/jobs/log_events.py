"""Read log archives of any size into the lake: hundreds of GB of .log, .log.N and .gz, without
tailing them.

Spark's workers read the raw text, fold stack traces, keep what the pattern table may read and
everything from WARN up, and it is committed to the lake's derived/log_records, from where the next
cycle makes events. Reading the same files again, or having tailed them before, adds nothing new:
rows of the same identity fold.

Archives and lake must be reachable by Spark's executors, the archives by their Python: on object
storage (s3://…) that takes fsspec's package for it and the usual variables. Writing there needs
Spark's S3A connector, which is not part of the PyPI package: start Spark with --packages
org.apache.hadoop:hadoop-aws:VERSION (the version of its hadoop-client jars) and fs.s3a.*
credentials.
"""

import argparse
import sys
import time
from datetime import UTC, datetime

from ingest.errors import Refused
from ingest.flink_logs.files import find
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.lake.derived_commits import append
from ingest.records import Observed
from spark_jobs.job_arguments import add_lake, lake_at
from spark_jobs.log_archives import ARCHIVE_OPTIONS, LogArchives, batches
from spark_jobs.progress import say
from spark_jobs.session import open_session
from spark_jobs.shipping import ship_code

BATCH_BYTES = 4 << 30
"""Unpacked text per commit."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lake(parser, required=False)
    parser.add_argument(
        "--from-files",
        nargs="+",
        required=True,
        metavar="GLOB",
        help="files or globs, local or any URI",
    )
    parser.add_argument(
        "--cluster",
        default="archive",
        metavar="NAME",
        help="under which their records are kept (default: %(default)s)",
    )
    parser.add_argument(
        "--time-zone",
        default="UTC",
        metavar="ZONE",
        help="IANA zone the logs are written in (default: %(default)s)",
    )
    parser.add_argument(
        "--layout", default="flink", help="'flink' or a log4j pattern (default: %(default)s)"
    )
    parser.add_argument(
        "--keep",
        choices=("events", "all"),
        default="events",
        help="'all' keeps every record (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    layout = layout_of(args.layout)
    zone_of(args.time_zone, layout)
    lake = lake_at(args)
    files, skips = find(args.from_files)
    if not files and not skips:
        raise Refused(f"No file matches {', '.join(args.from_files)}; check the path.")
    clock, at = time.monotonic(), datetime.now(UTC)
    rows = done = 0
    if files:
        session = open_session("weir log_events", options=ARCHIVE_OPTIONS)
        ship_code(session)
        archives = LogArchives(session, lake, args.cluster, layout, args.time_zone, args.keep, at)
        try:
            for batch in batches(files, BATCH_BYTES):
                rows += archives.load(batch)
                done += len(batch)
                say(
                    f"{done} of {len(files)} files, {rows} records kept, "
                    f"{time.monotonic() - clock:.1f} s"
                )
        finally:
            session.stop()
        skips += archives.skips
    if skips:
        append(lake, [Observed(args.cluster, at, "log", tuple(skips))])
    for skip in skips:
        print(f"skipped {skip.subject}: {skip.detail}", file=sys.stderr)
    return 1 if skips else 0
