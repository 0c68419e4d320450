"""Read Flink logs once into a lake.

Without --cursor the files are taken as ended: everything is read, up to the last line. With
--cursor FILE only what is new since the last time is read, and FILE is written after the lake took
it; the last record of a file that is still written to waits until the next one begins.
"""

import argparse
import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from ingest.commands.cursor_file import load_cursor, save_cursor
from ingest.errors import Refused
from ingest.flink_logs.tail import read_new
from ingest.lake.store import Lake
from ingest.records import Observed
from ingest.sources import LogSource


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "globs",
        nargs="+",
        metavar="GLOB",
        help="files or globs, local or any fsspec URI, with their rotated copies",
    )
    parser.add_argument("--lake", required=True, metavar="ROOT", help="path or URI of the lake")
    parser.add_argument(
        "--lake-options", default="{}", metavar="JSON", help="storage options of the lake"
    )
    parser.add_argument("--cluster", required=True, metavar="NAME")
    parser.add_argument(
        "--layout", default="flink", help="'flink' or a log4j pattern (default: %(default)s)"
    )
    parser.add_argument(
        "--date",
        type=date.fromisoformat,
        metavar="DAY",
        help="day of times without a date, as 2026-11-21",
    )
    parser.add_argument(
        "--time-zone",
        default="UTC",
        metavar="ZONE",
        help="IANA zone the logs are written in (default: %(default)s)",
    )
    parser.add_argument(
        "--keep",
        choices=("events", "all"),
        default="events",
        help="'all' keeps every record (default: %(default)s)",
    )
    parser.add_argument(
        "--cursor", type=Path, metavar="FILE", help="remember how far each file was read"
    )


def run(args: argparse.Namespace) -> int:
    lake = Lake(args.lake, _options(args.lake_options))
    source = LogSource(tuple(args.globs), args.layout, args.time_zone, day=args.date)
    cursor = load_cursor(args.cursor) if args.cursor else {}
    records = skipped = 0
    behind = True
    while behind:
        at = datetime.now(UTC)
        result = read_new(
            source, args.cluster, cursor, at, keep=args.keep, final=args.cursor is None
        )
        skips = (Observed(args.cluster, at, "log", result.skips),) if result.skips else ()
        lake.append((*result.observed, *skips))
        cursor, behind = result.cursor, result.behind
        if args.cursor:
            save_cursor(args.cursor, cursor)
        records += sum(len(observed.records) for observed in result.observed)
        skipped += len(result.skips)
        for skip in result.skips:
            print(f"skipped {skip.subject}: {skip.detail}", file=sys.stderr)
        print(f"{records} records kept, {skipped} skipped", flush=True)
    return 1 if skipped else 0


def _options(text: str) -> dict[str, str]:
    try:
        options = json.loads(text)
    except json.JSONDecodeError as error:
        raise Refused(f"--lake-options is not a JSON object ({error.msg}).") from error
    if not isinstance(options, dict):
        raise Refused("--lake-options is not a JSON object.")
    return {str(name): str(value) for name, value in options.items()}
