import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from ingest.storage.local_files import LocalFiles
from ingest.storage.tree import renames


class AlreadyWritten(FileExistsError):
    pass


class PlanFolder:
    """``uri``: a path or fsspec URI that need not exist yet."""

    def __init__(self, uri: str, within: str | None = None) -> None:
        self.uri = uri.rstrip("/")
        self._filesystem, self._root = fsspec.core.url_to_fs(self.uri)
        is_local = isinstance(self._filesystem, LocalFileSystem)
        self._local = LocalFiles(within or str(Path(self._root).parent)) if is_local else None

    def write(self, name: str, content: bytes) -> None:
        path = f"{self._root}/{name}"
        if self._local is not None:
            _write_once(self._local, path, content)
            return
        if self._filesystem.exists(path):
            raise AlreadyWritten(name)
        if not renames(self._filesystem):
            self._filesystem.pipe_file(path, content)
            return
        draft = _draft_of(path)
        self._filesystem.makedirs(self._filesystem._parent(path), exist_ok=True)
        self._filesystem.pipe_file(draft, content)
        self._filesystem.mv(draft, path)

    def read(self, name: str) -> bytes:
        if self._local is not None:
            with self._local.open(f"{self._root}/{name}") as file:
                return file.read()
        content: bytes = self._filesystem.cat_file(f"{self._root}/{name}")
        return content

    def open(self, name: str) -> Any:
        return (self._local or self._filesystem).open(f"{self._root}/{name}", "rb")

    def exists(self, name: str) -> bool:
        if self._local is not None:
            with suppress(FileNotFoundError):
                self._local.stat(f"{self._root}/{name}")
                return True
            return False
        self._filesystem.invalidate_cache()
        return bool(self._filesystem.exists(f"{self._root}/{name}"))

    def names(self, below: str) -> list[str]:
        place = f"{self._root}/{below}"
        self._filesystem.invalidate_cache()
        try:
            listed_names = (
                self._local.names(place) if self._local else self._filesystem.ls(place, False)
            )
        except FileNotFoundError:
            return []
        return sorted(
            name
            for path in listed_names
            if not (name := str(path).rstrip("/").rpartition("/")[2]).startswith(".")
        )

    def remove(self) -> None:
        if self._local is not None:
            self._local.remove_tree(self._root)
        elif self._filesystem.exists(self._root):
            self._filesystem.rm(self._root, recursive=True)


def _draft_of(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.{secrets.token_hex(6)}"


def _write_once(local: LocalFiles, path: str, content: bytes) -> None:
    draft = _draft_of(path)
    local.make_folder_of(path, private=True)
    try:
        with local.create(draft) as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        try:
            local.link(draft, local, path)
        except FileExistsError as error:
            raise AlreadyWritten(path) from error
    finally:
        with suppress(OSError):
            local.unlink(draft)
    local.sync_folder_of(path)
