"""Read log archives of any size into the lake: hundreds of GB of .log, .log.N and .gz, without tailing them.

Spark reads the raw text itself, folds stack traces, keeps what the pattern table may read and everything from
WARN up, and commits it to the lake's derived/log_records, from where the next cycle makes events. Reading the same files again,
or having tailed them before, adds nothing new: rows of the same identity fold.

Archives and lake must be reachable by Spark's executors. On object storage (s3://…) that needs Spark's S3A
connector, which is not part of the PyPI package: start Spark with --packages org.apache.hadoop:hadoop-aws:VERSION
(the version of its hadoop-client jars) and fs.s3a.* credentials; the Python side takes the usual AWS variables.
"""

import argparse
import sys
import time
from datetime import UTC, datetime

from ingest.errors import Refused
from ingest.flink_logs.files import LogFile, find
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.names import is_packed
from ingest.lake.derived_commits import append
from ingest.records import Observed, Skip
from spark_jobs.job_arguments import add_lake, lake_at
from spark_jobs.log_archives import ARCHIVE_OPTIONS, LogArchives, batches
from spark_jobs.session import open_session
from spark_jobs.shipping import ship_code

UNPACKED_RATIO = 12
"""Logs shrink by about this much; only the size of a batch depends on it."""

READ_BY_SPARK = (".gz", ".bz2")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lake(parser, required=False)
    parser.add_argument("--from-files", nargs="+", required=True, metavar="GLOB", help="files or globs, local or any URI")
    parser.add_argument("--cluster", default="archive", metavar="NAME", help="under which their records are kept (default: %(default)s)")
    parser.add_argument("--time-zone", default="UTC", metavar="ZONE", help="IANA zone the logs are written in (default: %(default)s)")
    parser.add_argument("--layout", default="flink", help="'flink' or a log4j pattern (default: %(default)s)")
    parser.add_argument("--keep", choices=("events", "all"), default="events", help="'all' keeps every record (default: %(default)s)")
    parser.add_argument("--batch-gib", type=float, default=4, metavar="N", help="unpacked text per commit (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """0 when every file was read, 1 when some were skipped."""
    layout = layout_of(args.layout)
    zone_of(args.time_zone, layout)
    lake = lake_at(args)
    files, skips = find(args.from_files)
    if not files and not skips:
        raise Refused(f"No file matches {', '.join(args.from_files)}; check the path.")
    readable = [file for file in files if _is_readable(file)]
    skips += [_unsupported(file) for file in files if not _is_readable(file)]
    sizes = [(file.path, file.size * (UNPACKED_RATIO if is_packed(file.path) else 1)) for file in readable]
    clock, at = time.monotonic(), datetime.now(UTC)
    rows = done = 0
    if sizes:
        session = open_session("weir log_events", options=ARCHIVE_OPTIONS)
        ship_code(session)
        archives = LogArchives(session, lake, args.cluster, layout, args.time_zone, args.keep, at)
        try:
            for batch in batches(sizes, int(args.batch_gib * 2**30)):
                rows += archives.load(batch)
                done += len(batch)
                print(f"{done} of {len(sizes)} files, {rows} records kept, {time.monotonic() - clock:.1f} s", flush=True)
        finally:
            session.stop()
        skips += archives.skips
    if skips:
        append(lake, [Observed(args.cluster, at, "log", tuple(skips))])
    for skip in skips:
        print(f"skipped {skip.subject}: {skip.detail}", file=sys.stderr)
    return 1 if skips else 0


def _is_readable(file: LogFile) -> bool:
    return not is_packed(file.path) or file.path.endswith(READ_BY_SPARK)


def _unsupported(file: LogFile) -> Skip:
    return Skip(file.path, "unreadable_file", "Spark reads gzip and bzip2 only; unpack it, or read it with `python -m ingest logs`.")
