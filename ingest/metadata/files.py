from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from ingest.metadata.pieces import Piece
from ingest.metadata.reader import read_pieces
from ingest.network.schemes import of_listed
from ingest.regular_files import open_regular

NAME = "_metadata"


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """``size`` (bytes) and ``modified`` (UTC) are ``None`` if unknown. ``path`` is as Flink spells
    it. If Weir reads a mount or a copy, ``read_at`` is the path in it, below ``within``.
    """

    path: str
    size: int | None = None
    modified: datetime | None = None
    read_at: str | None = None
    within: str | None = None

    @property
    def directory(self) -> str:
        return directory_of(self.path)

    def open(self) -> BinaryIO:
        path = self.path if self.read_at is None else self.read_at
        if "://" not in path:
            within = None if self.within is None else _local(self.within)
            return open_regular(_local(path), within, buffering=0)
        filesystem, name = of_listed(path)
        stream: BinaryIO = filesystem.open(name, "rb")
        return stream

    def pieces(self) -> Iterator[Piece]:
        return read_pieces(self.open, self.directory)


def directory_of(path: str) -> str:
    """``file:/a/chk-1`` for the local ``/a/chk-1/_metadata``; else the URI without its last part."""
    if "://" in path:
        return path.rpartition("/")[0]
    return f"file:{Path(_local(path)).absolute().parent}"


def _local(path: str) -> str:
    # Flink spells a local path ``file:/a``.
    return path.removeprefix("file:")
