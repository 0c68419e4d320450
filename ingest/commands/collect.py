"""Read running clusters into the lake: one cycle, or one every so many seconds.

Cursors are kept in a file, so that the next run goes on where this one ended. What a cycle could
not read is listed, and makes the exit code 1.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from ingest.cluster_options import (
    add_connection_arguments,
    add_log_arguments,
    source_of,
    sources_in,
)
from ingest.commands.cursor_file import load_cursor, save_cursor
from ingest.errors import Refused
from ingest.figures import count_text
from ingest.flink_rest.gate import SAME_PATH_PAUSE_S
from ingest.lake.environment import lake_place
from ingest.lake.store import Lake
from ingest.shard_collector import ClusterOutcome, collect_shard
from ingest.sources import ClusterSource


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url",
        nargs="?",
        metavar="URL",
        help="address of a JobManager, as in http://jobmanager:8081",
    )
    parser.add_argument(
        "--cluster",
        default="",
        metavar="NAME",
        help="name of that cluster (default: its host and port)",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="JSON list of clusters instead of one URL"
    )
    parser.add_argument(
        "--every",
        type=float,
        default=30,
        metavar="S",
        help="seconds from one cycle to the next (default: 30)",
    )
    parser.add_argument(
        "--cycles",
        type=int,
        default=1,
        metavar="K",
        help="how many cycles; 0 = until stopped (default: 1)",
    )
    parser.add_argument(
        "--lake",
        metavar="ROOT",
        help="path or URI of the lake (default: WEIR_LAKE_ROOT, else WEIR_HOME/lake)",
    )
    parser.add_argument(
        "--cursors",
        type=Path,
        metavar="FILE",
        help="where cursors are kept (default: collect-cursors.json beside a local lake)",
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object per cluster and cycle on stdout"
    )
    add_connection_arguments(parser)
    add_log_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """0 where every cluster answered and nothing was skipped, else 1."""
    sources = _sources(args)
    if args.every < SAME_PATH_PAUSE_S:
        raise Refused(
            f"--every must be at least {SAME_PATH_PAUSE_S:g} s: JobManagers are not asked the same "
            "more often."
        )
    lake = Lake(*lake_place(args.lake))
    cursor_file = args.cursors or _beside(lake.root)
    cursors = {
        name: cursor
        for name, cursor in load_cursor(cursor_file).items()
        if isinstance(cursor, dict)
    }
    skipped = False
    cycle = 0
    while True:
        started = time.monotonic()
        outcomes = collect_shard(sources, cursors, lake, cycle_s=args.every)
        cursors = {**cursors, **{outcome.cluster: outcome.cursor for outcome in outcomes}}
        try:
            save_cursor(cursor_file, cursors)
        except OSError as error:
            print(
                f"collect: cursors could not be kept in {cursor_file} ({error.strerror})",
                file=sys.stderr,
            )
        for outcome in outcomes:
            skipped = skipped or not outcome.reachable or outcome.skips > 0
            print(_as_json(outcome) if args.json else described(outcome), flush=True)
        cycle += 1
        if cycle == args.cycles:
            return 1 if skipped else 0
        time.sleep(max(0.0, args.every - (time.monotonic() - started)))


def described(outcome: ClusterOutcome) -> str:
    if not outcome.reachable:
        return f"{outcome.cluster}: not reachable. {outcome.error}"
    version = outcome.flink_version or "of unknown version"
    counts = (
        count_text(outcome.jobs_seen, "job"),
        count_text(outcome.requests, "request"),
        count_text(outcome.records, "record"),
    )
    line = f"{outcome.cluster}: Flink {version}, {', '.join(counts)}"
    return line + (f", {outcome.skips} skipped" if outcome.skips else "")


def _as_json(outcome: ClusterOutcome) -> str:
    shown = {name: getattr(outcome, name) for name in ClusterOutcome.__slots__ if name != "cursor"}
    return json.dumps(shown)


def _sources(args: argparse.Namespace) -> list[ClusterSource]:
    if bool(args.url) == bool(args.config):
        raise Refused("Give either the URL of a JobManager or --config FILE.")
    if args.config:
        return sources_in(args.config)
    name = args.cluster or args.url.partition("://")[2].rpartition("@")[2].split("/")[0]
    return [source_of(args, name, args.url)]


def _beside(root: str) -> Path:
    if "://" in root and not root.startswith("file://"):
        raise Refused("With a remote lake, say where cursors are kept: --cursors FILE.")
    return Path(root.removeprefix("file://")) / "collect-cursors.json"
