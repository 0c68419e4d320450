"""Detects directories with two names: by inode in a local file system, elsewhere by URI."""

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ingest.messages import message
from ingest.storage.directories import Directories
from ingest.storage.roots import Root
from ingest.storage.snapshots import SECOND_NAME, Unlisted
from ingest.uris import Spellings, are_nested, canonical, is_below


class DirectoryName(NamedTuple):
    root: str
    directory: str

    @property
    def uri(self) -> str:
        return self.root.rstrip("/") + self.directory or self.root


@dataclass
class VisitedDirectories:
    _visited: dict[Hashable, tuple[DirectoryName, Directories]] = field(default_factory=dict)
    _other_names: dict[DirectoryName, DirectoryName] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def visit(self, name: DirectoryName, listable: Directories) -> DirectoryName | None:
        """The other name of the directory, unless its parent has one, too."""
        identity = listable.identity(name.directory)
        with self._lock:
            visited = self._visited.get(identity)
            if visited is None or visited[0] == name or not _still_has(visited, identity):
                self._visited[identity] = name, listable
                return None
            self._other_names[name] = visited[0]
            return None if self._is_in_reported(name) else visited[0]

    def skips_of(self, root: str) -> list[Unlisted]:
        return [
            second_name(other, name)
            for name, other in self._other_names.items()
            if other.root == root != name.root and not self._is_in_reported(name)
        ]

    def _is_in_reported(self, name: DirectoryName) -> bool:
        parent = DirectoryName(name.root, name.directory.rpartition("/")[0])
        return bool(name.directory) and parent in self._other_names


def second_name(name: DirectoryName, other: DirectoryName) -> Unlisted:
    return Unlisted(
        name.uri,
        SECOND_NAME,
        message(
            "It is the same directory as {uri:text}: declare one name as an alias of the "
            "other (WEIR_STORAGE_ALIASES), and register only one of them as a root.",
            uri=other.uri,
        ),
        other.uri,
    )


def _still_has(visited: tuple[DirectoryName, Directories], identity: Hashable) -> bool:
    name, listable = visited
    try:
        return listable.identity(name.directory) == identity
    except OSError:
        return False


def same_directory(uri: str, other: str) -> bool:
    try:
        return _contains(uri, other) or _contains(other, uri)
    except (OSError, ValueError, ImportError):
        return False


def overlap(path: str, other: str) -> bool:
    if "://" in path or "://" in other:
        return are_nested(canonical(path), canonical(other))
    resolved = (canonical(str(Path(name).resolve())) for name in (path, other))
    existing = next(folder for folder in (Path(path), *Path(path).parents) if folder.exists())
    if are_nested(*resolved) or (existing == Path(path) and same_directory(path, other)):
        return True
    try:
        return _contains(other, str(existing))
    except FileNotFoundError:
        return False


def overlapping(root: Root, other: Root, spellings: Spellings) -> bool:
    names, other_names = ({side.uri, canonical(side.reading, spellings)} for side in (root, other))
    are_names_nested = any(are_nested(name, path) for name in names for path in other_names)
    return are_names_nested or overlap(root.reading, other.reading)


def _contains(outer: str, inner: str) -> bool:
    if "://" in outer or "://" in inner:
        return is_below(canonical(inner), canonical(outer))
    path = Path(inner).resolve(strict=True)
    return any(Path(outer).samefile(folder) for folder in (path, *path.parents))
