"""Verified copies: written under another name, read back, compared, and only then put in place."""

import hashlib
import os
import uuid
from contextlib import suppress
from typing import Any, BinaryIO

from ingest.messages import count_text
from ingest.storage.local_files import LocalFiles

_CHUNK_BYTES = 1 << 20


def same(here: Any, name: str, there: Any, other: str) -> bool:
    """Whether two files have the same bytes. File systems are fsspec's, or :class:`LocalFiles`."""
    return _digest(here, name) == _digest(there, other)


def to_local(here: Any, name: str, there: LocalFiles, target: str) -> None:
    """Raises ``FileExistsError`` if ``target`` is there, ``OSError`` if the copy differs.

    Times and modes are kept if known.
    """
    part = _part_of(target)
    try:
        with there.create(part) as out:
            digest = _digest(here, name, out)
            out.flush()
            os.fsync(out.fileno())
        _compare(digest, _digest(there, part), name)
        if isinstance(here, LocalFiles):
            there.dress(part, here.stat(name), times=True)
        _put_in_place(there, part, target)
    finally:
        with suppress(OSError):
            there.unlink(part)


def within(filesystem: Any, name: str, target: str) -> None:
    filesystem.cp_file(name, target)
    filesystem.invalidate_cache(filesystem._parent(target))
    made, wanted = filesystem.info(target).get("size"), filesystem.info(name).get("size")
    if made != wanted:
        with suppress(OSError):
            filesystem.rm_file(target)
        raise OSError(f"the copy has {made} bytes instead of {wanted}")


def across(here: Any, name: str, there: Any, target: str) -> None:
    with there.open(target, "wb") as out:
        digest = _digest(here, name, out)
    there.invalidate_cache(there._parent(target))
    try:
        _compare(digest, _digest(there, target), name)
    except OSError:
        with suppress(OSError):
            there.rm_file(target)
        raise


def first_bytes(here: Any, name: str, there: Any, target: str, size: int, *, renames: bool) -> str:
    """The first ``size`` bytes of a file, as a whole or not at all; their SHA-256. ``renames``: a
    move is one step at the target.

    With the permissions of the directory, dated now. Raises ``FileExistsError`` if ``target`` is
    there, ``OSError`` if the file is shorter or the copy differs.
    """
    if isinstance(there, LocalFiles):
        return _first_to_local(here, name, there, target, size)
    part = _part_of(target) if renames else target
    if there.exists(target):
        raise FileExistsError(target)
    try:
        with there.open(part, "wb") as out:
            digest = _digest(here, name, out, size)
        there.invalidate_cache(there._parent(part))
        _compare(digest, _digest(there, part), name)
        if renames:
            there.mv(part, target)
    except BaseException:
        with suppress(OSError):
            there.rm_file(part)
        raise
    return digest


def _first_to_local(here: Any, name: str, there: LocalFiles, target: str, size: int) -> str:
    part = _part_of(target)
    try:
        with there.create(part) as out:
            digest = _digest(here, name, out, size)
            out.flush()
            os.fsync(out.fileno())
        _compare(digest, _digest(there, part), name)
        with there.at(target) as (within, _):
            around = os.fstat(within)
        there.dress(part, around, 0o666)
        _put_in_place(there, part, target)
    finally:
        with suppress(OSError):
            there.unlink(part)
    return digest


def first_digest(here: Any, name: str, size: int) -> str:
    """SHA-256 of the first ``size`` bytes. Raises ``OSError`` if there are fewer."""
    return _digest(here, name, size=size)


def _part_of(target: str) -> str:
    folder, _, name = target.rpartition("/")
    return f"{folder}/.{name}.{uuid.uuid4().hex}.part"


def _put_in_place(there: LocalFiles, part: str, target: str) -> None:
    try:
        there.link(part, there, target)
    except FileExistsError:
        raise
    except OSError:
        # Without links, no step is both atomic and refuses to overwrite.
        with suppress(FileNotFoundError):
            there.stat(target)
            raise FileExistsError(f"{target} exists") from None
        there.rename(part, target)


def _digest(
    filesystem: Any, name: str, copy: BinaryIO | None = None, size: int | None = None
) -> str:
    """SHA-256 of the content, or of its first ``size`` bytes, which are also written to ``copy``."""
    digest, left = hashlib.sha256(), size
    with filesystem.open(name, "rb") as source:
        while chunk := source.read(_CHUNK_BYTES if left is None else min(left, _CHUNK_BYTES)):
            digest.update(chunk)
            if copy is not None:
                copy.write(chunk)
            if left is not None:
                left -= len(chunk)
    if left:
        raise OSError(f"it has only {(size or 0) - left:,} of {count_text(size or 0, 'byte')}")
    return digest.hexdigest()


def _compare(wanted: str, made: str, name: str) -> None:
    if made != wanted:
        raise OSError(f"the copy of {name} has other bytes than the original")
