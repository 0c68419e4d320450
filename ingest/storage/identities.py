"""Detects directories visited under two names: by inode in a local file system, elsewhere by where
they are read.
"""

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
    """``directory`` is relative to the root, with its leading slash."""

    root: str
    directory: str

    @property
    def uri(self) -> str:
        return self.root.rstrip("/") + self.directory or self.root


@dataclass
class VisitedDirectories:
    """Of the listings of one audit. Thread-safe."""

    _known: dict[Hashable, tuple[DirectoryName, Directories]] = field(default_factory=dict)
    _twice: dict[DirectoryName, DirectoryName] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def visit(self, name: DirectoryName, listable: Directories) -> DirectoryName | None:
        """The other name of this directory, unless its parent's was already reported."""
        identity = listable.identity(name.directory)
        with self._lock:
            known = self._known.get(identity)
            if known is None or known[0] == name or not _is_still(known, identity):
                self._known[identity] = name, listable
                return None
            self._twice[name] = known[0]
            return None if self._is_in_reported(name) else known[0]

    def skips_of(self, root: str) -> list[Unlisted]:
        return [
            second_name(other, name)
            for name, other in self._twice.items()
            if other.root == root != name.root and not self._is_in_reported(name)
        ]

    def _is_in_reported(self, name: DirectoryName) -> bool:
        parent = DirectoryName(name.root, name.directory.rpartition("/")[0])
        return bool(name.directory) and parent in self._twice


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


def _is_still(known: tuple[DirectoryName, Directories], identity: Hashable) -> bool:
    name, listable = known
    try:
        return listable.identity(name.directory) == identity
    except OSError:
        return False


def same_directory(uri: str, other: str) -> bool:
    try:
        return _holds(uri, other) or _holds(other, uri)
    except (OSError, ValueError, ImportError):
        return False


def overlap(place: str, other: str) -> bool:
    if "://" in place or "://" in other:
        return are_nested(canonical(place), canonical(other))
    resolved = (canonical(str(Path(path).resolve())) for path in (place, other))
    above = next(folder for folder in (Path(place), *Path(place).parents) if folder.exists())
    if are_nested(*resolved) or (above == Path(place) and same_directory(place, other)):
        return True
    try:
        return _holds(other, str(above))
    except FileNotFoundError:
        return False


def overlapping(root: Root, other: Root, spellings: Spellings) -> bool:
    names, others = ({side.uri, canonical(side.reading, spellings)} for side in (root, other))
    named = any(are_nested(name, place) for name in names for place in others)
    return named or overlap(root.reading, other.reading)


def _holds(outer: str, inner: str) -> bool:
    if "://" in outer or "://" in inner:
        return is_below(canonical(inner), canonical(outer))
    place = Path(inner).resolve(strict=True)
    return any(Path(outer).samefile(above) for above in (place, *place.parents))
