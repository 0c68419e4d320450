import json
import os
import re
import shutil
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path

METADATA = "_metadata"

Files = dict[str, tuple[int, float]]
"""Path as recorded → bytes, and when it was written (epoch s of the recording)."""


class CheckpointTree:
    """``folder`` is where Weir finds what Flink wrote to ``root`` of the recording."""

    def __init__(self, recording: Path, folder: Path) -> None:
        self._recording, self._folder = recording, folder
        self._file = recording / "listing.jsonl"
        self._at_ms: list[int] = []
        self._offsets: list[int] = []
        self.root = ""
        self._read_index()
        self._between: tuple[int, Files, Files] = (-1, {}, {})
        self._laid: Files | None = None

    def show(self, at_ms: int, by_ms: int, ids: Mapping[str, str]) -> None:
        """Files come before what refers to them."""
        wanted = self._files_at(at_ms)
        if wanted == self._laid:
            return
        renamed = Renaming(ids)
        named = {
            self._folder / renamed.text(path): (path, *facts) for path, facts in wanted.items()
        }
        before = {
            file for place in self._places(ids) for file in place.rglob("*") if file.is_file()
        }
        for file in sorted(before - named.keys(), key=_metadata_last, reverse=True):
            file.unlink(missing_ok=True)
            if not any(file.parent.iterdir()):
                file.parent.rmdir()
        for file in sorted(named, key=_metadata_last):
            path, size, written_s = named[file]
            if file not in before or (file.name != METADATA and file.stat().st_size != size):
                self._write(file, path, size, renamed)
                at_ns = (round(written_s * 1000) + by_ms) * 1_000_000
                os.utime(file, ns=(at_ns, at_ns))
        self._laid = wanted

    def show_end(self, by_ms: int, ids: Mapping[str, str]) -> None:
        if self._at_ms:
            self.show(self._at_ms[-1], by_ms, ids)
            self._laid = None

    def remove(self, ids: Mapping[str, str]) -> None:
        for place in self._places(ids):
            shutil.rmtree(place, ignore_errors=True)
        self._laid = None

    def _places(self, ids: Mapping[str, str]) -> Iterator[Path]:
        for own in ids.values():
            yield self._folder / "ckpt" / own
            yield from (self._folder / "sp").glob(f"savepoint-{own[:6]}-*")

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
        if number != self._between[0]:
            self._between = (
                number,
                self._files_of_checkpoint(number - 1),
                self._files_of_checkpoint(number),
            )
        _, before, after = self._between
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
    """Job ids of a recording → those of a turn, in paths and in ``_metadata``: no length changes."""

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
    """Flink begins a savepoint's directory with six digits of the job's id."""
    return {f"savepoint-{old[:6]}-": f"savepoint-{new[:6]}-" for old, new in ids.items()}


def _metadata_last(file: Path) -> tuple[bool, str]:
    return file.name == METADATA, str(file)
