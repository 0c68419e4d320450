"""The folder of a plan: files that are written once, durably, and never again; on local disks and object storage alike."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec

from ingest.storage.tree import RENAMES


class AlreadyWritten(FileExistsError):
    """Another process wrote this file; it stays as it is."""


class PlanFolder:
    """``uri`` is a path or any fsspec URI; it need not exist yet."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/")
        self._filesystem, self._root = fsspec.core.url_to_fs(self.uri)
        self._local = Path(self._root) if "file" in _protocols(self._filesystem) else None

    def write(self, name: str, content: bytes) -> None:
        """On disk when this returns, as a whole or not at all; raises :class:`AlreadyWritten`."""
        if self._local is not None:
            _write_once(self._local / name, content)
        else:
            path = f"{self._root}/{name}"
            if self._filesystem.exists(path):
                raise AlreadyWritten(name)
            if not RENAMES.intersection(_protocols(self._filesystem)):
                self._filesystem.pipe_file(path, content)
                return
            draft = f"{self._filesystem._parent(path)}/.{path.rpartition('/')[2]}.{secrets.token_hex(6)}"
            self._filesystem.makedirs(self._filesystem._parent(path), exist_ok=True)
            self._filesystem.pipe_file(draft, content)
            self._filesystem.mv(draft, path)

    def read(self, name: str) -> bytes:
        """Raises ``FileNotFoundError``."""
        content: bytes = self._filesystem.cat_file(f"{self._root}/{name}")
        return content

    def open(self, name: str) -> Any:
        """A seekable stream, for readers that want a part of a large file."""
        return self._filesystem.open(f"{self._root}/{name}", "rb")

    def exists(self, name: str) -> bool:
        self._filesystem.invalidate_cache()
        return bool(self._filesystem.exists(f"{self._root}/{name}"))

    def names(self, below: str) -> list[str]:
        """File names directly below a folder of it, sorted; none where the folder is not there."""
        self._filesystem.invalidate_cache()
        try:
            found = self._filesystem.ls(f"{self._root}/{below}", detail=False)
        except FileNotFoundError:
            return []
        return sorted(name for path in found if not (name := str(path).rstrip("/").rpartition("/")[2]).startswith("."))

    def remove(self) -> None:
        """The whole folder; only for plans that never came to be and those that are forgotten."""
        if self._filesystem.exists(self._root):
            self._filesystem.rm(self._root, recursive=True)


def _write_once(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.parent / f".{path.name}.{secrets.token_hex(6)}"
    try:
        with draft.open("xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(draft, path)  # unlike a rename it never replaces what is there
        except FileExistsError as error:
            raise AlreadyWritten(str(path)) from error
    finally:
        draft.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _protocols(filesystem: Any) -> Iterator[str]:
    protocol = filesystem.protocol
    yield from (protocol,) if isinstance(protocol, str) else protocol
