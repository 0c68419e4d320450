"""How much a folder holds: on this machine's disks, or wherever fsspec reads."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import fsspec


@dataclass(frozen=True)
class Held:
    """``oldest_at`` is when the file that was written first was last written to."""

    size_bytes: int = 0
    files: int = 0
    oldest_at: datetime | None = None

    def __add__(self, other: "Held") -> "Held":
        known = [at for at in (self.oldest_at, other.oldest_at) if at]
        return Held(
            self.size_bytes + other.size_bytes, self.files + other.files, min(known, default=None)
        )


def held(place: str | Path) -> Held:
    """Of a file, or of everything below a folder; nothing where there is none.

    Links are not followed. Raises ``OSError``.
    """
    total = Held()
    if "://" in str(place):
        return sum((Held(size, 1) for size in _sizes_elsewhere(str(place))), total)
    for status in _stats(str(place)):
        total += Held(status.st_size, 1, datetime.fromtimestamp(status.st_mtime, UTC))
    return total


def _stats(path: str) -> Iterator[os.stat_result]:
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            yield os.lstat(path)
            return
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _stats(entry.path)
                else:
                    try:
                        yield entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
    except FileNotFoundError:
        return


def _sizes_elsewhere(uri: str) -> Iterator[int]:
    filesystem, path = fsspec.core.url_to_fs(uri)
    if filesystem.exists(path):
        yield from (
            int(found.get("size") or 0) for found in filesystem.find(path, detail=True).values()
        )
