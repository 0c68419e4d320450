import fcntl
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ingest.errors import Retryable
from ingest.flink_logs.cursors import TailCursor
from ingest.flink_logs.names import is_rotated
from ingest.pushed.entries import Entry

SUFFIX = ".log"
ROTATED_AT_BYTES = 64 * 1024 * 1024
REMEMBERED_LINES = 65_536
MAX_PROCESSES = 10_000
MAX_UNREAD_BYTES = 512 * 1024 * 1024
IDLE_S = 24 * 3600
LEAST_FREE_SHARE = 0.05

_KEY_BYTES = 12
_LENGTH_BYTES = 8


class Behind(Retryable):
    """The sender should retry later."""


@dataclass(frozen=True, slots=True)
class Taken:
    lines: int
    repeated: int


@dataclass(frozen=True)
class SharedFolder:
    folder: Path

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def check_disk(self) -> None:
        """Raises ``Behind``."""
        disk = shutil.disk_usage(self.folder)
        if disk.free < disk.total * LEAST_FREE_SHARE:
            raise Behind(
                f"Only {disk.free:,} bytes are free on Weir's disk; nothing is taken until there "
                "is more."
            )

    @contextmanager
    def lock(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("wb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


class Spool(SharedFolder):
    @property
    def glob(self) -> str:
        return str(self.folder / f"*{SUFFIX}*")

    def take(self, entries: Iterable[Entry], remembered_lines: int = REMEMBERED_LINES) -> Taken:
        """Store lines in order. A line is left out if it is among its process's newest lines:
        ``remembered_lines``, or twice as many as in ``entries`` if that is more.
        """
        by_process: dict[str, list[Entry]] = {}
        for entry in entries:
            by_process.setdefault(entry.process, []).append(entry)
        lines = repeated = 0
        with self.lock():
            room = MAX_PROCESSES - sum(1 for _ in self.folder.glob(f"*{SUFFIX}"))
            for process, process_entries in by_process.items():
                path = self.folder / f"{process}{SUFFIX}"
                room -= not path.exists()
                if room < 0:
                    raise Behind(
                        f"Lines of more than {MAX_PROCESSES:,} processes are waiting; does their "
                        "name change with every line?"
                    )
                new_lines = self._append(
                    path, process_entries, max(remembered_lines, 2 * len(process_entries))
                )
                lines += new_lines
                repeated += len(process_entries) - new_lines
        return Taken(lines, repeated)

    def make_room(self, logs_cursor: Mapping[str, Any] | None, now_s: float) -> None:
        """Remove files that were read completely, by the collector's cursor. Raises ``Behind``
        if too much is unread.
        """
        cursor = TailCursor.from_json(dict(logs_cursor) if logs_cursor else None)
        with self.lock():
            unread = sum(
                self._remove_if_read(path, cursor, now_s)
                for path in self.folder.glob(f"*{SUFFIX}*")
            )
        if unread > MAX_UNREAD_BYTES:
            raise Behind(
                f"{unread:,} bytes that were pushed are not read yet; the collector has to catch "
                "up first."
            )
        self.check_disk()

    def _remove_if_read(self, path: Path, cursor: TailCursor, now_s: float) -> int:
        """Returns the number of unread bytes."""
        stat, file_cursor = path.stat(), cursor.files.get(str(path))
        unread = stat.st_size - (file_cursor.read_to if file_cursor else 0)
        if unread > 0 or (file_cursor and file_cursor.pending):
            return max(unread, 0)
        if is_rotated(path.name) or now_s - stat.st_mtime > IDLE_S:
            path.unlink()
            if not is_rotated(path.name):
                self._keys_file(path).unlink(missing_ok=True)
        return 0

    def _append(self, path: Path, entries: Sequence[Entry], remembered: int) -> int:
        length, recent = self._recent_hashes(path, remembered)
        new_entries = {
            key: entry
            for key, entry in zip(_keys(entries), entries, strict=True)
            if key not in recent
        }
        with path.open("ab") as file:
            if file.tell() > length:
                file.truncate(length)
            file.writelines(
                entry.text.encode("utf-8", "replace") + b"\n" for entry in new_entries.values()
            )
            file.flush()
            os.fsync(file.fileno())
            length = file.seek(0, os.SEEK_END)
        if length >= ROTATED_AT_BYTES:
            _rotate(path)
            length = 0
        self._remember(path, length, [*recent, *new_entries][-remembered:])
        return len(new_entries)

    def _recent_hashes(self, path: Path, most: int) -> tuple[int, dict[bytes, None]]:
        try:
            content = self._keys_file(path).read_bytes()
        except FileNotFoundError:
            return 0, {}
        digests = range(_LENGTH_BYTES, len(content) - _KEY_BYTES + 1, _KEY_BYTES)[-most:]
        return int.from_bytes(content[:_LENGTH_BYTES], "big"), {
            content[at : at + _KEY_BYTES]: None for at in digests
        }

    def _remember(self, path: Path, length: int, keys: Sequence[bytes]) -> None:
        target = self._keys_file(path)
        target.parent.mkdir(exist_ok=True)
        draft = target.with_suffix(".new")
        draft.write_bytes(length.to_bytes(_LENGTH_BYTES, "big") + b"".join(keys))
        draft.replace(target)

    def _keys_file(self, path: Path) -> Path:
        return self.folder / "keys" / path.name


def _keys(entries: Sequence[Entry]) -> list[bytes]:
    batch = (
        ""
        if all(entry.stamp for entry in entries)
        else _digest(*(entry.text for entry in entries)).hex()
    )
    marked = [(entry.stamp or batch, entry.text) for entry in entries]
    count: Counter[tuple[str, str]] = Counter()
    keys = []
    for mark in marked:
        keys.append(_digest(*mark, str(count[mark])))
        count[mark] += 1
    return keys


def _digest(*texts: str) -> bytes:
    return blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest()


def _rotate(path: Path) -> None:
    last = 1
    while path.with_name(f"{path.name}.{last}").exists():
        last += 1
    for number in range(last, 1, -1):
        path.with_name(f"{path.name}.{number - 1}").rename(path.with_name(f"{path.name}.{number}"))
    path.rename(path.with_name(f"{path.name}.1"))
