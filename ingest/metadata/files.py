"""Finds and opens ``_metadata`` files, local or remote, and names the directory that their relative
paths refer to.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import fsspec

from ingest.messages import message
from ingest.metadata.pieces import Piece
from ingest.metadata.reader import read_pieces
from ingest.network.schemes import of_listed
from ingest.network.uris import spelled_as
from ingest.records import Skip
from ingest.regular_files import open_regular
from ingest.storage.instants import modified_at

NAME = "_metadata"


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """``path`` as given or found; ``size`` in bytes and ``modified`` (UTC) are ``None`` if the
    storage does not say.

    If Weir reads another tree than Flink wrote to (a mount, a copy), ``path`` is Flink's, for
    relative references, and the bytes come from ``read_at``, which must be below ``within``.
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
    """``file:/a/chk-1`` of the local ``/a/chk-1/_metadata``; the directory of a URI as it is
    spelled.
    """
    if "://" in path:
        return path.rpartition("/")[0]
    return f"file:{Path(_local(path)).absolute().parent}"


def find(paths: Iterable[str]) -> tuple[list[MetadataFile], list[Skip]]:
    """Files named by ``paths`` (local or any fsspec URI), and every ``_metadata`` below those that
    are directories.
    """
    metadata_files: dict[str, MetadataFile] = {}
    skips: list[Skip] = []
    for path in paths:
        try:
            files, unlisted = _below(path)
        except (OSError, ValueError, ImportError) as error:
            skips.append(_unreadable(path, error))
            continue
        skips += [_unreadable(error.filename or path, error) for error in unlisted]
        if not files and not unlisted:
            skips.append(
                Skip(
                    path,
                    "no_metadata",
                    message(
                        "No _metadata file is below it; name a checkpoint, a savepoint or a folder "
                        "of them."
                    ),
                )
            )
        metadata_files.update({file.path: file for file in files})
    return list(metadata_files.values()), skips


def _below(path: str) -> tuple[list[MetadataFile], list[OSError]]:
    remote = "://" in path
    filesystem, root = fsspec.core.url_to_fs(path if remote else _local(path))
    info = filesystem.info(root)
    if info.get("type") != "directory":
        return [_file(path, info)], []
    files: list[MetadataFile] = []
    unlisted: list[OSError] = []
    for folder, _, names in filesystem.walk(root, detail=True, on_error=unlisted.append):
        if NAME in names:
            name = f"{folder.rstrip('/')}/{NAME}"
            files.append(_file(spelled_as(path, filesystem, name) if remote else name, names[NAME]))
    return sorted(files, key=lambda file: file.path), unlisted


def _unreadable(path: str, error: BaseException) -> Skip:
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return Skip(
        path,
        "unreadable_file",
        message(
            "It cannot be read ({why:name}); check the path and its permissions.", why=str(why)
        ),
    )


def _file(path: str, info: dict[str, Any]) -> MetadataFile:
    size = info.get("size")
    return MetadataFile(path, None if size is None else int(size), modified_at(info))


def _local(path: str) -> str:
    """``file:/a`` is how Flink spells a local path."""
    return path.removeprefix("file:")
