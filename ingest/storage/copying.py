"""Verified copies: written under another name, read back, compared, and only then put in place.

File systems are fsspec's, or :class:`LocalFiles`. ``size``: only the first bytes of a file.
"""

import hashlib
import os
import uuid
from contextlib import suppress
from typing import Any, BinaryIO

from ingest.messages import count_text
from ingest.storage.local_files import LocalFiles

_CHUNK_BYTES = 1 << 20


def to_local(here: Any, name: str, there: LocalFiles, target: str, size: int | None = None) -> str:
    """Returns the SHA-256. A whole file keeps its times and mode if known; first bytes are dated
    now, with the permissions of the directory. Raises ``FileExistsError`` if ``target`` is there,
    ``OSError`` if the file is shorter or the copy differs.
    """
    part = _part_of(target)
    try:
        with there.create(part) as out:
            digest = digest_of(here, name, size, out)
            out.flush()
            os.fsync(out.fileno())
        _compare(digest, digest_of(there, part), name)
        if size is not None:
            with there.at(target) as (within, _):
                around = os.fstat(within)
            there.dress(part, around, 0o666)
        elif isinstance(here, LocalFiles):
            there.dress(part, here.stat(name), times=True)
        _put_in_place(there, part, target)
    finally:
        with suppress(OSError):
            there.unlink(part)
    return digest


def to_remote(
    here: Any, name: str, there: Any, target: str, size: int | None = None, *, renames: bool
) -> str:
    """Like :func:`to_local`. ``renames``: a move is one step at the target."""
    if there.exists(target):
        raise FileExistsError(target)
    part = _part_of(target) if renames else target
    try:
        with there.open(part, "wb") as out:
            digest = digest_of(here, name, size, out)
        there.invalidate_cache(there._parent(part))
        _compare(digest, digest_of(there, part), name)
        if renames:
            there.mv(part, target)
    except BaseException:
        with suppress(OSError):
            there.rm_file(part)
        raise
    return digest


def within(filesystem: Any, name: str, target: str) -> None:
    filesystem.cp_file(name, target)
    filesystem.invalidate_cache(filesystem._parent(target))
    made, wanted = filesystem.info(target).get("size"), filesystem.info(name).get("size")
    if made != wanted:
        with suppress(OSError):
            filesystem.rm_file(target)
        raise OSError(f"the copy has {made} bytes instead of {wanted}")


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


def digest_of(
    filesystem: Any, name: str, size: int | None = None, copy: BinaryIO | None = None
) -> str:
    """SHA-256, also written to ``copy``. Raises ``OSError`` if the file is shorter than ``size``."""
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
