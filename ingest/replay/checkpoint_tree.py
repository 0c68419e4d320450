import json
import os
import re
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path

METADATA = "_metadata"

Files = dict[str, tuple[int, float]]
"""Path as recorded → bytes, and time of writing (epoch s of the recording)."""


class CheckpointTree:
    """``folder``: where Weir reads files that Flink wrote to ``root`` of the recording."""

    def __init__(self, recording: Path, folder: Path) -> None:
        self._recording, self._folder = recording, folder
        self._file = recording / "listing.jsonl"
        self._at_ms: list[int] = []
        self._offsets: list[int] = []
        self.root = ""
        self._read_index()
        self._cached: tuple[int, Files, Files] = (-1, {}, {})
        """Number of a checkpoint, previous files and its files."""
        self._shown: Files | None = None

    def show(self, at_ms: int, by_ms: int, ids: Mapping[str, str]) -> None:
        """Show the files of ``at_ms``, a time of the recording ``by_ms`` before the present. A
        ``_metadata`` is written last.
        """
        files = self._files_at(at_ms)
        if files == self._shown:
            return
        renamed = Renaming(ids)
        targets = {
            self._folder / renamed.text(path): (path, *facts) for path, facts in files.items()
        }
        existing = {
            file
            for directory in self._directories(ids)
            for file in directory.rglob("*")
            if file.is_file()
        }
        for file in sorted(existing - targets.keys(), key=_metadata_last, reverse=True):
            file.unlink(missing_ok=True)
            if not any(file.parent.iterdir()):
                file.parent.rmdir()
        for file in sorted(targets, key=_metadata_last):
            path, size, written_s = targets[file]
            if file not in existing or (file.name != METADATA and file.stat().st_size != size):
                self._write(file, path, size, renamed)
                at_ns = (round(written_s * 1000) + by_ms) * 1_000_000
                os.utime(file, ns=(at_ns, at_ns))
        self._shown = files

    def show_end(self, by_ms: int, ids: Mapping[str, str]) -> None:
        if self._at_ms:
            self.show(self._at_ms[-1], by_ms, ids)
            self._shown = None

    def remove(self, ids: Mapping[str, str]) -> None:
        for directory in self._directories(ids):
            shutil.rmtree(directory, ignore_errors=True)
        self._shown = None

    def _directories(self, ids: Mapping[str, str]) -> Iterator[Path]:
        for job_id in ids.values():
            yield self._folder / "ckpt" / job_id
            yield from (self._folder / "sp").glob(f"savepoint-{job_id[:6]}-*")

    def _write(self, file: Path, recorded: str, size: int, renamed: "Renaming") -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.new")
        if file.name == METADATA:
            draft.write_bytes(renamed.content((self._recording / recorded).read_bytes()))
        else:
            with draft.open("wb") as out:
                out.truncate(size)
        draft.replace(file)

    def _files_at(self, at_ms: int) -> Files:
        number = bisect_right(self._at_ms, at_ms)
        if number != self._cached[0]:
            self._cached = (
                number,
                self._files_of_checkpoint(number - 1),
                self._files_of_checkpoint(number),
            )
        _, before, after = self._cached
        return before | {path: facts for path, facts in after.items() if facts[1] * 1000 <= at_ms}

    def _files_of_checkpoint(self, number: int) -> Files:
        if not 0 <= number < len(self._offsets):
            return {}
        with self._file.open("rb") as file:
            file.seek(self._offsets[number])
            files = json.loads(file.readline())["files"]
        return {path: (size, written_s) for path, size, written_s in files}

    def _read_index(self) -> None:
        if not self._file.exists():
            return
        offset = 0
        with self._file.open("rb") as lines:
            for line in lines:
                entry = json.loads(line)
                self.root = entry["root"]
                self._at_ms.append(round(entry["ts"] * 1000))
                self._offsets.append(offset)
                offset += len(line)


class Renaming:
    """Replaces a recording's job ids by a turn's, in paths and ``_metadata``. Lengths stay."""

    def __init__(self, ids: Mapping[str, str]) -> None:
        self._names = {
            old.encode(): new.encode() for old, new in (dict(ids) | savepoint_names(ids)).items()
        }
        self._pattern = re.compile(b"|".join(map(re.escape, self._names)))

    def content(self, recorded: bytes) -> bytes:
        return self._pattern.sub(lambda match: self._names[match[0]], recorded)

    def text(self, recorded: str) -> str:
        return self.content(recorded.encode()).decode()


def savepoint_names(ids: Mapping[str, str]) -> dict[str, str]:
    return {f"savepoint-{old[:6]}-": f"savepoint-{new[:6]}-" for old, new in ids.items()}


def _metadata_last(file: Path) -> tuple[bool, str]:
    return file.name == METADATA, str(file)
