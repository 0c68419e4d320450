import argparse
import os
from collections.abc import Sequence

from ingest.lake.environment import lake_place
from ingest.lake.reader import LakeReader
from spark_jobs.paths import absolute_root
from spark_jobs.small.rows import MOST_ROWS


def add_lake(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    default = "" if required else " (default: WEIR_LAKE_ROOT, else WEIR_HOME/lake)"
    parser.add_argument(
        "--lake", required=required, metavar="ROOT", help=f"path or URI of the lake{default}"
    )


def lake_at(args: argparse.Namespace) -> LakeReader:
    root, storage_options = lake_place(args.lake, os.environ)
    return LakeReader(absolute_root(root), storage_options)


def add_run(parser: argparse.ArgumentParser) -> None:
    add_lake(parser)
    parser.add_argument(
        "--run-dir",
        required=True,
        metavar="DIR",
        help="path or URI to write to; one for each attempt",
    )
    add_attempt(parser)


def add_attempt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--attempt", required=True, metavar="TAG", help="name of this attempt, used once"
    )
    parser.add_argument(
        "--interrupt",
        action="append",
        default=[],
        metavar="TAG",
        help="an attempt that may still run on the server",
    )


def interrupt_attempts(tags: Sequence[str]) -> None:
    if tags:
        # Importing Spark takes longer than a small job.
        from spark_jobs.session import interrupt_attempt

        for tag in tags:
            interrupt_attempt(tag)


def add_most_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--most-rows-without-spark",
        type=int,
        default=MOST_ROWS,
        metavar="N",
        help=(
            "so many rows are worked on in this process, more with Spark (default: "
            f"{MOST_ROWS:,}; 0: always with Spark)"
        ),
    )
