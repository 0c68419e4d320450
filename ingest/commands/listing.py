"""List the files below checkpoint roots, and say what could not be seen.

A root is a directory as Flink spells it: a local path or any fsspec URI (hdfs://…, s3://…). With
--at it is read elsewhere: through a mount, or a copy. With --inventory nothing is listed: the rows
of that inventory (of S3, Google, Azure or HDFS: a file, a folder, a glob or a manifest) are taken
instead, all or none. With --out the listing is kept, and goes on there
where it was cut off.
Exit code 1 where a directory could not be listed or was met under two names.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from ingest.errors import Refused
from ingest.figures import count_text
from ingest.storage.instants import refuse_future
from ingest.storage.inventory import import_inventory
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from ingest.storage.snapshots import Listed, Snapshot
from ingest.storage.unlisted import SECOND_NAME
from ingest.uris import Spellings

SECONDS_A_LINE = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("roots", nargs="+", metavar="ROOT", help="a directory as Flink spells it")
    parser.add_argument("--at", metavar="READ_AT", help="where this one root is read")
    parser.add_argument("--inventory", metavar="FILE", help="take the rows of this inventory")
    parser.add_argument(
        "--columns", metavar="NAMES", help="columns of the inventory, such as path,bytes,modified"
    )
    parser.add_argument(
        "--as-of",
        metavar="TIME",
        help="when the inventory was begun (ISO 8601; default: as its manifest, name or file says)",
    )
    parser.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="FROM=TO",
        help="a prefix that means another one; may be repeated",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help=(
            "keep the listing there as Parquet, one directory for each root where there are several"
        ),
    )
    parser.add_argument(
        "--threads", type=int, default=8, help="directories listed at a time (default 8)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object for each root")


def run(args: argparse.Namespace) -> int:
    if args.at and len(args.roots) > 1:
        raise Refused("--at is where one root is read; give one ROOT.")
    if args.threads < 1:
        raise Refused("--threads must be at least 1.")
    spellings = Spellings(tuple(_alias(pair) for pair in args.alias))
    roots = [Root.of(written, args.at, spellings) for written in args.roots]
    with tempfile.TemporaryDirectory(prefix="weir-listing-") as scratch:
        listings = [
            _one(args, root, directory, spellings)
            for root, directory in zip(roots, _directories(args, scratch), strict=True)
        ]
        for listed in listings:
            print(_json(listed, kept=bool(args.out)) if args.json else _line(listed))
    for listed in listings:
        for skip in listed.unlisted:
            print(
                f"{'listed twice' if skip.reason == SECOND_NAME else 'not listed'} {skip.subject}: "
                f"{skip.detail}",
                file=sys.stderr,
            )
    return 1 if any(listed.unlisted for listed in listings) else 0


def _one(args: argparse.Namespace, root: Root, directory: str, spellings: Spellings) -> Listed:
    if args.out and Snapshot(directory).listed() is not None:
        raise Refused(f"{directory} holds a finished listing already; give another directory.")
    if args.inventory:
        columns = args.columns.split(",") if args.columns else None
        return import_inventory(
            args.inventory, root, directory, _as_of(args), columns, spellings=spellings
        )
    return list_root(
        root, directory, threads=args.threads, spellings=spellings, progress=_Progress(root.uri)
    )


class _Progress:
    def __init__(self, root: str) -> None:
        self.root, self.reported_s = root, time.monotonic()

    def __call__(self, files: int, directories: int) -> None:
        if time.monotonic() - self.reported_s >= SECONDS_A_LINE:
            self.reported_s = time.monotonic()
            print(
                f"{self.root}: {files:,} files in {directories:,} directories so far",
                file=sys.stderr,
            )


def _directories(args: argparse.Namespace, scratch: str) -> Sequence[str]:
    base = str(args.out or scratch)
    if len(args.roots) == 1:
        return [base if args.out else f"{base}/0"]
    return [f"{base.rstrip('/')}/{number}" for number in range(len(args.roots))]


def _alias(pair: str) -> tuple[str, str]:
    old, equals, new = pair.partition("=")
    if not equals:
        raise Refused(
            f"--alias {pair!r} is not FROM=TO, such as hdfs://nameservice1=hdfs://namenode1."
        )
    return old, new


def _as_of(args: argparse.Namespace) -> datetime | None:
    if not args.as_of:
        return None
    try:
        at = datetime.fromisoformat(args.as_of)
    except ValueError as error:
        raise Refused(
            f"--as-of {args.as_of!r} is no time; write such as 2026-11-21T04:00:00Z."
        ) from error
    return refuse_future(at if at.tzinfo else at.replace(tzinfo=UTC), datetime.now(UTC), "--as-of")


def _line(listed: Listed) -> str:
    unlisted = f", {len(listed.unlisted)} not listed" if listed.unlisted else ""
    counts = f"{count_text(listed.files, 'file')}, {count_text(listed.bytes, 'byte')}{unlisted}"
    return f"{listed.root}: {counts}, as of {listed.as_of:%Y-%m-%d %H:%M:%S} UTC"


def _json(listed: Listed, *, kept: bool) -> str:
    line = asdict(listed) | {
        "as_of": listed.as_of.isoformat(),
        "directory": listed.directory if kept else None,
    }
    return json.dumps(line, ensure_ascii=False)
