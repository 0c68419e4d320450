"""Verified copies: written under another name, read back, compared, then renamed.

File systems are those of fsspec, or ``LocalFiles``. With ``size``, only the first ``size`` bytes
are copied.
"""

import hashlib
import os
import uuid
from contextlib import suppress
from typing import Any, BinaryIO

from ingest.messages import count_text
from ingest.storage.local_files import LocalFiles

_CHUNK_BYTES = 1 << 20


def to_local(
    source_fs: Any, name: str, target_fs: LocalFiles, target: str, size: int | None = None
) -> str:
    """Returns the SHA-256. Copies of whole local files get their times and mode; copies of first
    bytes get the mode and owner of the directory. Raises ``FileExistsError`` if ``target`` exists,
    ``OSError`` if the file is shorter than ``size`` or the copy differs.
    """
    part = _part_of(target)
    try:
        with target_fs.create(part) as out:
            digest = digest_of(source_fs, name, size, out)
            out.flush()
            os.fsync(out.fileno())
        _compare(digest, digest_of(target_fs, part), name)
        if size is not None:
            with target_fs.at(target) as (parent, _):
                folder = os.fstat(parent)
            target_fs.copy_attributes(part, folder, 0o666)
        elif isinstance(source_fs, LocalFiles):
            target_fs.copy_attributes(part, source_fs.stat(name), times=True)
        _put_in_place(target_fs, part, target)
    finally:
        with suppress(OSError):
            target_fs.unlink(part)
    return digest


def to_remote(
    source_fs: Any,
    name: str,
    target_fs: Any,
    target: str,
    size: int | None = None,
    *,
    renames: bool,
) -> str:
    if target_fs.exists(target):
        raise FileExistsError(target)
    part = _part_of(target) if renames else target
    try:
        with target_fs.open(part, "wb") as out:
            digest = digest_of(source_fs, name, size, out)
        target_fs.invalidate_cache(target_fs._parent(part))
        _compare(digest, digest_of(target_fs, part), name)
        if renames:
            target_fs.mv(part, target)
    except BaseException:
        with suppress(OSError):
            target_fs.rm_file(part)
        raise
    return digest


def copy_in_store(filesystem: Any, name: str, target: str) -> None:
    """A copy by the store itself: only its size is compared."""
    filesystem.cp_file(name, target)
    filesystem.invalidate_cache(filesystem._parent(target))
    copied, size = filesystem.info(target).get("size"), filesystem.info(name).get("size")
    if copied != size:
        with suppress(OSError):
            filesystem.rm_file(target)
        raise OSError(f"the copy has {copied} bytes instead of {size}")


def _part_of(target: str) -> str:
    folder, _, name = target.rpartition("/")
    return f"{folder}/.{name}.{uuid.uuid4().hex}.part"


def _put_in_place(target_fs: LocalFiles, part: str, target: str) -> None:
    try:
        target_fs.link(part, target_fs, target)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links has no atomic rename that refuses to overwrite.
        with suppress(FileNotFoundError):
            target_fs.stat(target)
            raise FileExistsError(f"{target} exists") from None
        target_fs.rename(part, target)


def digest_of(
    filesystem: Any, name: str, size: int | None = None, copy: BinaryIO | None = None
) -> str:
    """SHA-256 of the bytes, which are also written to ``copy``. Raises ``OSError`` if the file is
    shorter than ``size``.
    """
    digest, left_bytes = hashlib.sha256(), size
    with filesystem.open(name, "rb") as source:
        while chunk := source.read(
            _CHUNK_BYTES if left_bytes is None else min(left_bytes, _CHUNK_BYTES)
        ):
            digest.update(chunk)
            if copy is not None:
                copy.write(chunk)
            if left_bytes is not None:
                left_bytes -= len(chunk)
    if left_bytes:
        raise OSError(
            f"it has only {(size or 0) - left_bytes:,} of {count_text(size or 0, 'byte')}"
        )
    return digest.hexdigest()


def _compare(expected: str, digest: str, name: str) -> None:
    if digest != expected:
        raise OSError(f"the copy of {name} has other bytes than the original")
