"""What belongs to a recording: the files below its folder that can be read to their ends.

Links must stay inside of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ingest.records import Skip
from ingest.regular_files import open_regular

# What a process printed, and what RocksDB logs (Flink moves that beside its own logs): both have no
# layout.
_NOT_A_LOG = re.compile(r"\..*|.*\.(out|err)|(.*_)?LOG(\.old.*)?")
_MOST_SKIPS = 100


@dataclass(frozen=True, slots=True)
class Bundle:
    """``skips`` names what was left out and why."""

    directory: Path
    rest_files: tuple[Path, ...]
    log_files: tuple[Path, ...]
    skips: tuple[Skip, ...]

    def open(self, path: Path) -> BinaryIO:
        return open_regular(path, within=self.directory)


def bundle_at(directory: Path) -> Bundle:
    """The files of the recording in ``directory``; empty where there is none."""
    skips: list[Skip] = []
    rest = (path for path in directory.glob("rest*.jsonl*") if path.suffix in (".jsonl", ".gz"))
    logs = (
        path
        for path in (directory / "logs").rglob("*")
        if not path.is_dir() and not _NOT_A_LOG.fullmatch(path.name)
    )
    files = [tuple(_readable(directory, sorted(paths), skips)) for paths in (rest, logs)]
    return Bundle(directory, files[0], files[1], tuple(skips[:_MOST_SKIPS]))


def _readable(directory: Path, paths: list[Path], skips: list[Skip]) -> Iterator[Path]:
    for path in paths:
        try:
            open_regular(path, within=directory).close()
        except OSError as error:
            name = ascii(str(path.relative_to(directory)))[1:-1]
            skips.append(
                Skip(name, "unreadable_file", f"It is left out: {error.strerror or error}.")
            )
        else:
            yield path
