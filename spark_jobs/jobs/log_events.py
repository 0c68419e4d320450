"""Read log archives of any size into the lake: hundreds of GB of .log, .log.N and .gz, without
tailing them.

Spark's workers read the raw text, join stack traces to their records, and keep the records that a
log pattern may match, or of level WARN and above. These are committed to the lake table
derived/log_records, from which the next cycle makes events. Files that were read or tailed before
add nothing: a row with the identity of a stored one counts once.

Spark's executors must reach the lake, and their Python the archives. For object storage (s3://…),
Python needs the fsspec package of the storage and its usual variables. To write there, Spark needs
its S3A connector, which is not in the PyPI package: start Spark with --packages
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
"""Bytes of unpacked text in one commit."""


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
    rows = files_read = 0
    if files:
        session = open_session("weir log_events", options=ARCHIVE_OPTIONS)
        ship_code(session)
        archives = LogArchives(session, lake, args.cluster, layout, args.time_zone, args.keep, at)
        try:
            for batch in batches(files, BATCH_BYTES):
                rows += archives.load(batch)
                files_read += len(batch)
                say(
                    f"{files_read} of {len(files)} files, {rows} records kept, "
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
