"""Inspects, moves and deletes single files on any file system.

Paths are what a listing gave as ``listed_path``: a plain local path or an fsspec URI. Nothing here ever overwrites a file
or touches a directory's other contents, and a file is only taken away where it still is what was expected.
"""

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any

import fsspec

from ingest.errors import IngestError
from ingest.storage import copying, folders
from ingest.storage.instants import cut, modified_at, of_nanoseconds
from ingest.storage.roots import local_path
from ingest.wording import count_text

RENAMES = frozenset({"hdfs", "viewfs", "webhdfs"})
"""File systems whose move is one atomic step at their server; on others it is a copy, then a deletion."""


class TreeError(IngestError):
    """A file could not be looked at, moved or deleted; it is where it was. The message says why and what to do."""


class Gone(TreeError):
    """There is no such file (any more)."""


class Occupied(TreeError):
    """The target exists already, and is not overwritten."""


class Changed(TreeError):
    """The file is not what was expected of it; it was left alone."""


@dataclass(frozen=True, slots=True)
class Stat:
    """``modified`` in UTC, cut to milliseconds as listings are; ``None`` where the storage does not say."""

    bytes: int
    modified: datetime | None


def stat(path: str) -> Stat:
    """Raises ``Gone`` where there is no file, other ``TreeError`` where that is unknown."""
    filesystem, name = _at(path)
    try:
        if filesystem is None:
            found = Path(name).lstat()
            _only_files(path, found.st_mode)
            return Stat(found.st_size, of_nanoseconds(found.st_mtime_ns))
        filesystem.invalidate_cache(filesystem._parent(name))
        info = filesystem.info(name)
    except (OSError, ValueError) as error:
        raise _error("looked at", path, error) from error
    if info.get("type") != "file":
        raise TreeError(f"{path} is not a file; only files are moved and deleted.")
    return Stat(int(info.get("size") or 0), cut(modified_at(info)))


def exists(path: str) -> bool:
    """Raises ``TreeError`` where that is unknown: a file that cannot be seen need not be gone."""
    try:
        stat(path)
    except Gone:
        return False
    return True


def move(path: str, target: str, expected: Stat | None = None) -> None:
    """Afterwards the file is at ``target`` and not at ``path``; after any error, still (also) at ``path``.

    One step where the file system can. Across file systems and on object stores the copy is made under another name,
    compared, put in place, and only then the original deleted. A move that was cut off in between is finished by
    repeating it. Directories on the way to ``target`` are made. Raises ``Occupied``, ``Gone``, ``Changed``, ``TreeError``.
    """
    _check(path, expected)
    here, name = _at(path)
    there, goal = _at(target)
    try:
        if here is None and there is None:
            _move_locally(Path(name), Path(goal), expected)
        elif here is there and here is not None and _protocol(here) in RENAMES:
            _refuse_occupied(target)
            here.makedirs(here._parent(goal), exist_ok=True)
            here.mv(name, goal)
        else:
            copy(path, target, expected)
            delete(path, expected)
    except (OSError, ValueError) as error:
        raise _error("moved", path, error) from error


def copy(path: str, target: str, expected: Stat | None = None) -> None:
    """A verified copy; one that is there already with the same content is left as it is. Raises as ``move`` does."""
    before = _check(path, expected)
    here, name = _at(path)
    there, goal = _at(target)
    try:
        if exists(target):
            if copying.same(here, name, there, goal):
                return
            raise Occupied(f"{target} exists and differs from {path}; move it away, then try again.")
        if there is None:
            folders.make(Path(goal).parent)
            copying.to_local(here, name, Path(goal))
        elif here is there:
            there.makedirs(there._parent(goal), exist_ok=True)
            copying.within(there, name, goal)
        else:
            there.makedirs(there._parent(goal), exist_ok=True)
            copying.across(here, name, there, goal)
    except FileExistsError as error:
        raise Occupied(f"{target} was created in between; look at it, then try again.") from error
    except (OSError, ValueError) as error:
        raise _error("copied", path, error) from error
    if stat(path) != before:
        raise Changed(f"{path} was written to while it was copied; it was left alone, and so was the copy {target}.")


def copy_first(path: str, target: str, size: int) -> str:
    """The first ``size`` bytes of a file that only grows, verified; their SHA-256. Raises as ``copy`` does.

    What is there already stays if it is the same, else :class:`Occupied`.
    """
    here, name = _at(path)
    there, goal = _at(target)
    if stat(path).bytes < size:
        raise Changed(f"{path} has fewer than {count_text(size, 'byte')}.")
    try:
        if exists(target):
            digest = copying.first_digest(here, name, size)
            if stat(target).bytes == size and copying.first_digest(there, goal, size) == digest:
                return digest
            raise Occupied(f"{target} exists and differs from {path}.")
        if there is None:
            folders.make(Path(goal).parent)
        else:
            there.makedirs(there._parent(goal), exist_ok=True)
        return copying.first_bytes(here, name, there, goal, size, renames=there is not None and _protocol(there) in RENAMES)
    except FileExistsError as error:
        raise Occupied(f"{target} was created in between.") from error
    except (OSError, ValueError) as error:
        raise _error("copied", path, error) from error


def delete(path: str, expected: Stat | None = None) -> None:
    """One file, for good. Raises ``Gone``, ``Changed``, ``TreeError``."""
    _check(path, expected)
    filesystem, name = _at(path)
    try:
        if filesystem is None:
            Path(name).unlink()
        else:
            filesystem.rm_file(name)
    except (OSError, ValueError) as error:
        raise _error("deleted", path, error) from error


def remove_empty(path: str) -> None:
    """A directory that was seen to be empty, where there are any; one that is not empty, or not to be had, stays."""
    filesystem, name = _at(path)
    with suppress(OSError, ValueError):
        if filesystem is None:
            Path(name).rmdir()
        elif _protocol(filesystem) in RENAMES:
            filesystem.rmdir(name)


def _check(path: str, expected: Stat | None) -> Stat:
    found = stat(path)
    if expected is not None and found != expected:
        raise Changed(
            f"{path} has {count_text(found.bytes, 'byte')} of {found.modified}, "
            f"not {expected.bytes} of {expected.modified}; it was left alone."
        )
    return found


def _move_locally(path: Path, target: Path, expected: Stat | None) -> None:
    folders.make(target.parent)
    try:
        # Unlike a rename, a link never replaces what is there. Content and times stay, as it is the same file.
        os.link(path, target, follow_symlinks=False)
    except FileExistsError as error:
        if not path.samefile(target):
            raise Occupied(f"{target} exists and is not {path}; move it away, then try again.") from error
        # A move that was cut off between the two steps.
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        # Another device, or a file system without links.
        copy(str(path), str(target), expected)
    delete(str(path), expected)


def _refuse_occupied(target: str) -> None:
    if exists(target):
        raise Occupied(f"{target} exists; move it away, then try again.")


def _at(path: str) -> tuple[Any, str]:
    """The file system, ``None`` for the local one, and the path in its own terms."""
    if "://" not in path or path.startswith("file:"):
        return None, local_path(path)
    try:
        # Without the cache of listings: what is to be deleted is looked at as it is now.
        filesystem, name = fsspec.core.url_to_fs(path, use_listings_cache=False)
    except (OSError, ValueError, ImportError) as error:
        raise _error("reached", path, error) from error
    return filesystem, name


def _protocol(filesystem: Any) -> str:
    protocol = filesystem.protocol
    return str(protocol if isinstance(protocol, str) else protocol[0])


def _only_files(path: str, mode: int) -> None:
    if not S_ISREG(mode):
        raise TreeError(f"{path} is not a file; only files are moved and deleted.")


def _error(done: str, path: str, error: Exception) -> TreeError:
    if isinstance(error, TreeError):
        return error
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Gone(f"There is no file {path}.")
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return TreeError(f"{path} could not be {done} ({why}); check that Weir may do so there, then try again.")
