"""Copies that are what they were made from: written under another name, read back, compared, and only then put in place."""

import hashlib
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from ingest.storage import folders

_CHUNK_BYTES = 1 << 20


def same(here: Any, name: str, there: Any, other: str) -> bool:
    """Whether two files have the same bytes. File systems are fsspec's, ``None`` the local one."""
    return _digest(here, name) == _digest(there, other)


def to_local(here: Any, name: str, target: Path) -> None:
    """Raises ``FileExistsError`` where ``target`` is there, ``OSError`` where the copy differs. Times and modes are kept where known."""
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as out:
            digest = _digest(here, name, out)
            out.flush()
            os.fsync(out.fileno())
        _compare(digest, _digest(None, str(part)), name)
        if here is None:
            found = Path(name).stat()
            os.utime(part, ns=(found.st_atime_ns, found.st_mtime_ns))
            folders.like(part, found)
        _put_in_place(part, target)
    finally:
        part.unlink(missing_ok=True)


def within(filesystem: Any, name: str, target: str) -> None:
    """The store copies by itself and answers for the bytes; what can be compared is their number."""
    filesystem.cp_file(name, target)
    filesystem.invalidate_cache(filesystem._parent(target))
    made, wanted = filesystem.info(target).get("size"), filesystem.info(name).get("size")
    if made != wanted:
        with suppress(OSError):
            filesystem.rm_file(target)
        raise OSError(f"the copy has {made} bytes instead of {wanted}")


def across(here: Any, name: str, there: Any, target: str) -> None:
    """From one file system to another that is not local."""
    with there.open(target, "wb") as out:
        digest = _digest(here, name, out)
    there.invalidate_cache(there._parent(target))
    try:
        _compare(digest, _digest(there, target), name)
    except OSError:
        with suppress(OSError):
            there.rm_file(target)
        raise


def _put_in_place(part: Path, target: Path) -> None:
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:
        # No links here, so there is no step that both is atomic and refuses to overwrite.
        if target.exists():
            raise FileExistsError(f"{target} exists") from None
        part.rename(target)


def _digest(filesystem: Any, name: str, copy: BinaryIO | None = None) -> str:
    """SHA-256 of the content, which is written to ``copy`` on the way."""
    digest = hashlib.sha256()
    with Path(name).open("rb") if filesystem is None else filesystem.open(name, "rb") as source:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            if copy is not None:
                copy.write(chunk)
    return digest.hexdigest()


def _compare(wanted: str, made: str, name: str) -> None:
    if made != wanted:
        raise OSError(f"the copy of {name} has other bytes than the original")
