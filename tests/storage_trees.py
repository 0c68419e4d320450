"""Recorded checkpoint directories, laid out again: real ``_metadata``, sparse files of the recorded
size and time for the rest.

``lay_out("1.20.5-H", tmp_path)`` gives a tree whose ``root`` is what Flink wrote to, read at
``tmp_path``.
"""

import gzip
import json
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ingest.metadata.files import MetadataFile
from ingest.storage.layout import METADATA_NAME
from ingest.storage.roots import Root

FIXTURES = Path(__file__).parent / "fixtures" / "storage"
RECORDED = tuple(sorted(folder.name for folder in FIXTURES.iterdir() if folder.is_dir()))

FINAL = "final"
FINAL_RUNNING = "final-running"
"""The listing before the last job was cancelled."""


class RecordedFile(NamedTuple):
    """``path`` is relative to the root; ``modified`` in seconds since 1970."""

    path: str
    bytes: int
    modified: float


@dataclass(frozen=True)
class RecordedTree:
    root: Root
    files: tuple[RecordedFile, ...]

    @property
    def directory(self) -> Path:
        """Where it was laid out."""
        return Path(self.root.reading)

    @property
    def newest(self) -> datetime:
        """When the last file was written."""
        return datetime.fromtimestamp(max(file.modified for file in self.files), UTC)

    def uri(self, path: str) -> str:
        """Canonical, of a path relative to the root."""
        return f"{self.root.uri}/{path}"

    def metadata(self) -> list[MetadataFile]:
        """Those that were there, with Flink's paths and readable where they lie now."""
        return [
            MetadataFile(
                self.uri(file.path),
                file.bytes,
                datetime.fromtimestamp(file.modified, UTC),
                str(self.directory / file.path),
            )
            for file in self.files
            if Path(file.path).name == METADATA_NAME
        ]


def root_uri(name: str) -> str:
    return f"file:/opt/l/lab/run/{name}"


def listing(name: str, at: str | float = FINAL) -> tuple[RecordedFile, ...]:
    """The tree as recorded ``FINAL``, ``FINAL_RUNNING``, or last before a time (seconds since
    1970).
    """
    if isinstance(at, str):
        lines = (FIXTURES / name / f"listing-{at}.tsv").read_text("utf-8").splitlines()
        return tuple(_file(*line.split("\t")) for line in lines)
    with gzip.open(FIXTURES / name / "listings.jsonl.gz", "rt", encoding="utf-8") as snapshots:
        seen = [snapshot for line in snapshots if (snapshot := json.loads(line))["ts"] <= at]
    return tuple(_file(*file) for file in seen[-1]["files"]) if seen else ()


def lay_out(name: str, directory: Path, *, at: str | float = FINAL) -> RecordedTree:
    """Makes ``directory`` such that it is what Flink wrote to ``root.uri``."""
    files = listing(name, at)
    written = dict(all_metadata(name))
    for file in files:
        path = directory / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            if path.name == METADATA_NAME:
                # A file that was listed while it grew is as long as it was then.
                out.write(written[file.path][: file.bytes])
            else:
                out.truncate(file.bytes)
        nanoseconds = round(file.modified * 1000) * 1_000_000
        os.utime(path, ns=(nanoseconds, nanoseconds))
    return RecordedTree(Root(root_uri(name), str(directory)), files)


def all_metadata(name: str) -> Iterable[tuple[str, bytes]]:
    """Every ``_metadata`` that ever was: path relative to the root, content."""
    with tarfile.open(FIXTURES / name / "metadata.tar.gz") as archive:
        for member in archive:
            stream = archive.extractfile(member)
            assert stream is not None
            yield member.name, stream.read()


def _file(path: str, size: str | int, modified: str | float) -> RecordedFile:
    return RecordedFile(path, int(size), float(modified))
