"""Record a running cluster into a folder that `import` reads: a case to send or to keep.

Every few seconds all that Weir reads of it, and its logs, are written as they come. Passwords,
tokens and users' own parameters are taken out. Ctrl-C ends the recording early; it is whole up to
there.
"""

import argparse
import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from ingest.cluster_options import add_connection_arguments, add_log_arguments, source_of
from ingest.errors import Refused
from ingest.figures import count_text
from ingest.flink_rest.gate import SAME_PATH_PAUSE_S
from ingest.recordings.recorder import RecordSummary, record
from ingest.sources import ClusterSource

MEBIBYTE = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", help="address of the JobManager, as in http://jobmanager:8081"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder to write; must not hold a recording yet",
    )
    parser.add_argument(
        "--seconds", type=float, default=300, metavar="N", help="how long (default: 300)"
    )
    parser.add_argument(
        "--every",
        type=float,
        default=5,
        metavar="S",
        help="seconds from one poll to the next (default: 5)",
    )
    parser.add_argument(
        "--max-mb",
        type=int,
        default=2048,
        metavar="MB",
        help="stop when the folder is that large (default: 2048)",
    )
    add_connection_arguments(parser)
    add_log_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if args.every < SAME_PATH_PAUSE_S:
        raise Refused(
            f"--every must be at least {SAME_PATH_PAUSE_S:g} s: JobManagers are not asked the same "
            "more often."
        )
    source = source_of(args, "recorded", args.url)
    summary = asyncio.run(_recorded(args, source))
    print(described(summary))
    return 1 if summary.skips or summary.error else 0


async def _recorded(args: argparse.Namespace, source: ClusterSource) -> RecordSummary:
    return await record(
        source,
        args.out,
        seconds=args.seconds,
        every_s=args.every,
        max_bytes=args.max_mb * MEBIBYTE,
        at=lambda: datetime.now(UTC),
        progress=lambda line: print(f"record: {line}", file=sys.stderr, flush=True),
    )


def described(summary: RecordSummary) -> str:
    size = summary.bytes_written / MEBIBYTE
    lines = [
        (
            f"{summary.directory}: Flink {summary.flink_version or 'of unknown version'}, "
            f"{count_text(len(summary.jobs), 'job')}"
        ),
        (
            f"  {count_text(summary.polls, 'poll')}, {count_text(summary.answers, 'answer')}, "
            f"{size:.1f} MiB"
        )
        + (f", {summary.skips} skipped" if summary.skips else ""),
    ]
    if summary.stopped_by == "size":
        lines.append("  ended because it became as large as --max-mb allows")
    if summary.error:
        lines.append(f"  last: {summary.error}")
    return "\n".join(lines)
