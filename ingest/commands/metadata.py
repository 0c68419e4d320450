"""Print what `_metadata` files of checkpoints and savepoints refer to, without Flink and without changing anything.

Directories are searched for `_metadata`. With --json one header line for each file and one line for each handle,
named as in Flink's own objects; else tables for people. A file is read to its end before anything of it is printed.
Exit code 1 where a file is incomplete, damaged, of an unknown version or cannot be read.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from itertools import chain

from ingest.errors import IngestError
from ingest.metadata.files import MetadataFile, find
from ingest.metadata.handles import handles
from ingest.metadata.lines import handle_line, header_line
from ingest.metadata.summary import summarise
from ingest.metadata.tables import summary_line, table_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a _metadata file, or a directory: local or any fsspec URI")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--summary", action="store_true", help="one line for each file, without operators and handles")


def run(args: argparse.Namespace) -> int:
    files, skips = find(args.paths)
    skipped = [(skip.subject, skip.detail) for skip in skips]
    try:
        for file in files:
            try:
                for line in _lines(file, as_json=args.json, summary_only=args.summary):
                    print(line)
            except BrokenPipeError:
                raise
            except (IngestError, OSError) as error:
                skipped.append((file.path, str(error)))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, a pager) has seen enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    for subject, why in skipped:
        print(f"skipped {subject}: {why}", file=sys.stderr)
    return 1 if skipped else 0


def _lines(file: MetadataFile, *, as_json: bool, summary_only: bool) -> Iterator[str]:
    summary = summarise(file.pieces(), file.directory)
    if not as_json:
        return iter([summary_line(summary, file.path)]) if summary_only else table_lines(summary, file.path)
    header = _json(header_line(summary, file.path))
    if summary_only:
        return iter([header])
    return chain([header], (_json(handle_line(handle)) for handle in handles(file.pieces())))


def _json(line: dict[str, object]) -> str:
    return json.dumps(line, ensure_ascii=False)
