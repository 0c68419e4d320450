"""Print what `_metadata` files of checkpoints and savepoints refer to, without Flink and without
changing anything.

Directories are searched for `_metadata`. With --json one header line for each file and one line for
each handle, named as in Flink's own objects; else tables for people. A file is read to its end
before anything of it is printed. Exit code 1 where a file is incomplete, damaged, of an unknown
version or cannot be read.
"""

import argparse
import json
from collections.abc import Iterator, Sequence

from ingest.commands.output import print_all
from ingest.errors import IngestError
from ingest.metadata.files import MetadataFile, find
from ingest.metadata.handles import handles
from ingest.metadata.lines import handle_line, header_line
from ingest.metadata.summary import summarise
from ingest.metadata.tables import summary_line, table_lines
from ingest.records import Skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a _metadata file, or a directory: local or any fsspec URI",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--summary",
        action="store_true",
        help="one line for each file, without operators and handles",
    )


def run(args: argparse.Namespace) -> int:
    files, skips = find(args.paths)
    return print_all(_lines(files, skips, as_json=args.json, summary_only=args.summary), skips)


def _lines(
    files: Sequence[MetadataFile], skips: list[Skip], *, as_json: bool, summary_only: bool
) -> Iterator[str]:
    for file in files:
        try:
            summary = summarise(file.pieces(), file.directory)
            if not as_json:
                yield from (
                    [summary_line(summary, file.path)]
                    if summary_only
                    else table_lines(summary, file.path)
                )
                continue
            yield _json(header_line(summary, file.path))
            if not summary_only:
                yield from (_json(handle_line(handle)) for handle in handles(file.pieces()))
        except (IngestError, OSError) as error:
            skips.append(Skip(file.path, "unreadable_file", str(error)))


def _json(line: dict[str, object]) -> str:
    return json.dumps(line, ensure_ascii=False)
