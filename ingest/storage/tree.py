"""Inspects, moves and deletes files on any file system, by local path or fsspec URI. A file is
never overwritten, and only deleted if it is as expected. ``within`` is the root above a path: no
link below it is followed (``ingest/beneath.py``).
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from stat import S_ISREG
from typing import Any

from ingest.beneath import LeadsElsewhere
from ingest.errors import IngestError, words_of
from ingest.messages import message
from ingest.network.schemes import of_listed
from ingest.storage import copying
from ingest.storage.instants import cut, from_nanoseconds, modified_at
from ingest.storage.local_files import LocalFiles
from ingest.storage.roots import local_path

RENAMES = frozenset({"hdfs", "viewfs", "webhdfs"})
"""File systems whose server moves a file in one atomic step. Others copy, then delete."""


class TreeError(IngestError):
    """A file was not inspected, moved or deleted. It is still in its place."""


class Gone(TreeError):
    """There is no such file, or not any more."""


class Occupied(TreeError):
    def __init__(self, target: str) -> None:
        super().__init__(
            message("{target:name} exists; move it away, then try again.", target=target)
        )


class NotAFile(TreeError):
    """A directory or another entry that is not a regular file."""


class Linked(TreeError):
    """The file is a link, or behind one; it was not inspected, moved or deleted."""


class Changed(TreeError):
    """The file is not as expected, and was not touched."""


@dataclass(frozen=True, slots=True)
class Stat:
    """``modified`` is in UTC, cut to milliseconds as in listings; ``None`` if unknown."""

    bytes: int
    modified: datetime | None


def stat(path: str, within: str | None = None) -> Stat:
    """Raises ``Gone`` if there is no file, another ``TreeError`` if that is unknown."""
    filesystem, name = _at(path, within)
    with _reported(message("looked at"), path):
        if isinstance(filesystem, LocalFiles):
            status = filesystem.stat(name)
            is_file = S_ISREG(status.st_mode)
            file_stat = Stat(status.st_size, from_nanoseconds(status.st_mtime_ns))
        else:
            filesystem.invalidate_cache(filesystem._parent(name))
            info = filesystem.info(name)
            is_file = info.get("type") == "file"
            file_stat = Stat(int(info.get("size") or 0), cut(modified_at(info)))
    if not is_file:
        raise NotAFile(
            message("{path:name} is not a file; only files are moved and deleted.", path=path)
        )
    return file_stat


def exists(path: str, within: str | None = None) -> bool:
    try:
        stat(path, within)
    except Gone:
        return False
    return True


Within = tuple[str | None, str | None]
"""The roots of a path and of its target."""


def move(
    path: str, target: str, expected: Stat | None = None, within: Within = (None, None)
) -> None:
    """Atomic if the file system supports it. Across file systems and on object stores, the original
    is deleted after a verified copy. After an error the file is (also) at ``path``; to finish an
    interrupted move, repeat it. Creates directories above ``target``. Raises ``Occupied``,
    ``Gone``, ``Changed`` or ``TreeError``.
    """
    _check(path, expected, within[0])
    source_fs, name = _at(path, within[0])
    target_fs, target_name = _at(target, within[1])
    with _reported(message("moved"), path):
        if isinstance(source_fs, LocalFiles) and isinstance(target_fs, LocalFiles):
            _move_locally((source_fs, name), (target_fs, target_name), expected, within)
        elif source_fs is target_fs and renames(source_fs):
            if exists(target):
                raise Occupied(target)
            source_fs.makedirs(source_fs._parent(target_name), exist_ok=True)
            source_fs.mv(name, target_name)
        else:
            copy(path, target, expected, within)
            delete(path, expected, within[0])


def copy(
    path: str, target: str, expected: Stat | None = None, within: Within = (None, None)
) -> None:
    """Make a verified copy, unless ``target`` has the same content. Raises like ``move``."""
    stat_before = _check(path, expected, within[0])
    _copy(path, target, within)
    if stat(path, within[0]) != stat_before:
        raise Changed(
            message(
                "{path:name} changed while it was copied; it was left unchanged, and so was "
                "the copy {target:name}.",
                path=path,
                target=target,
            )
        )


def copy_first(path: str, target: str, size: int, within: Within = (None, None)) -> str:
    """Copy the first ``size`` bytes of a file that only grows, verified. Returns their SHA-256."""
    if stat(path, within[0]).bytes < size:
        raise Changed(
            message("{path:name} has fewer bytes than {size:count}.", path=path, size=size)
        )
    return _copy(path, target, within, size)


def _copy(path: str, target: str, within: Within, size: int | None = None) -> str:
    source_fs, name = _at(path, within[0])
    target_fs, target_name = _at(target, within[1])
    with _reported(message("copied"), path, target):
        if exists(target, within[1]):
            digest = copying.digest_of(source_fs, name, size)
            is_whole = size in (None, stat(target, within[1]).bytes)
            if is_whole and copying.digest_of(target_fs, target_name) == digest:
                return digest
            raise Occupied(target)
        if isinstance(target_fs, LocalFiles):
            target_fs.make_folder_of(target_name)
            return copying.to_local(source_fs, name, target_fs, target_name, size)
        target_fs.makedirs(target_fs._parent(target_name), exist_ok=True)
        if source_fs is target_fs and size is None:
            copying.copy_in_store(target_fs, name, target_name)
            return ""
        # Whole files are copied into quarantine, where nothing reads an incomplete copy.
        in_one_step = size is not None and renames(target_fs)
        return copying.to_remote(source_fs, name, target_fs, target_name, size, renames=in_one_step)


def delete(path: str, expected: Stat | None = None, within: str | None = None) -> None:
    _check(path, expected, within)
    filesystem, name = _at(path, within)
    with _reported(message("deleted"), path):
        if isinstance(filesystem, LocalFiles):
            filesystem.unlink(name)
        else:
            filesystem.rm_file(name)


def remove_empty(path: str, within: str | None = None) -> None:
    filesystem, name = _at(path, within)
    with suppress(OSError, ValueError):
        if isinstance(filesystem, LocalFiles):
            filesystem.remove_empty(name)
        elif renames(filesystem):
            filesystem.rmdir(name)


def _check(path: str, expected: Stat | None, within: str | None) -> Stat:
    status = stat(path, within)
    if expected is not None and status != expected:
        raise Changed(
            message(
                "{path:name} has {bytes:count} B of {modified:name}, not {bytes2:count} B of "
                "{modified2:name}; it was left alone.",
                path=path,
                bytes=status.bytes,
                modified=str(status.modified),
                bytes2=expected.bytes,
                modified2=str(expected.modified),
            )
        )
    return status


def _move_locally(
    source: tuple[LocalFiles, str],
    destination: tuple[LocalFiles, str],
    expected: Stat | None,
    within: Within,
) -> None:
    (source_fs, path), (target_fs, target) = source, destination
    target_fs.make_folder_of(target)
    try:
        source_fs.link(path, target_fs, target)
    except FileExistsError as error:
        if not os.path.samestat(source_fs.stat(path), target_fs.stat(target)):
            raise Occupied(target) from error
        # An earlier move was interrupted between link and deletion.
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        # Another device, or a file system without links.
        copy(path, target, expected, within)
    delete(path, expected, within[0])


def _at(path: str, within: str | None) -> tuple[Any, str]:
    if "://" not in path or path.startswith("file:"):
        return LocalFiles(within and local_path(within)), local_path(path)
    with _reported(message("reached"), path):
        # The cache of listings is not used, since it may be out of date.
        return of_listed(path)


def renames(filesystem: Any) -> bool:
    protocol = filesystem.protocol
    return not RENAMES.isdisjoint((protocol,) if isinstance(protocol, str) else protocol)


@contextmanager
def _reported(done: str, path: str, target: str = "") -> Iterator[None]:
    """Storage clients raise errors of any type."""
    try:
        yield
    except TreeError:
        raise
    except LeadsElsewhere as error:
        text = message(
            "{path:name} was not {done:text}: {error:text}.", path=path, done=done, error=str(error)
        )
        raise Linked(text) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Gone(message("There is no file {path:name}.", path=path)) from error
    except Exception as error:
        if target and isinstance(error, FileExistsError):
            raise Occupied(target) from error
        text = message(
            "{path:name} could not be {done:text} ({why:name}); check that Weir may do so there, "
            "then try again.",
            path=path,
            done=done,
            why=words_of(error),
        )
        raise TreeError(text) from error
