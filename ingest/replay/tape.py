import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from ingest.errors import Refused

AROUND_MS = 24 * 3600 * 1000
"""A number of 13 digits so close to the recording is an instant."""

_MILLIS = rb"(?<![\w.])\d{13}(?!\w|\.\d)"
_LINE_TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")
_LINE_FORMAT = "%Y-%m-%d %H:%M:%S,%f"


@dataclass(frozen=True)
class Shift:
    """Moves recorded times by ``by_ms``, which may be negative, and replaces ``names``."""

    by_ms: int
    recorded_ms: int
    names: Mapping[bytes, bytes]

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        longest_first = sorted(self.names, key=len, reverse=True)
        return re.compile(b"|".join([_MILLIS, *map(re.escape, longest_first)]))

    def text(self, recorded: bytes) -> bytes:
        return self._pattern.sub(self._replace, recorded)

    def line(self, recorded: bytes) -> bytes:
        at_ms = line_ms(recorded)
        if at_ms is None:
            return self.text(recorded)
        return _line_time(at_ms + self.by_ms) + self.text(recorded[23:])

    def _replace(self, match: re.Match[bytes]) -> bytes:
        number = match[0]
        if number in self.names:
            return self.names[number]
        at_ms = int(number)
        return (
            str(at_ms + self.by_ms).encode()
            if abs(at_ms - self.recorded_ms) <= AROUND_MS
            else number
        )


def line_ms(line: bytes) -> int | None:
    match = _LINE_TIME.match(line)
    if not match:
        return None
    try:
        at = datetime.strptime(match[0].decode() + "000", _LINE_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(at.timestamp() * 1000)


def id_of(recorded_id: str, began_ms: int) -> str:
    return sha256(f"{recorded_id} {began_ms}".encode()).hexdigest()[:32]


def _line_time(at_ms: int) -> bytes:
    at = datetime.fromtimestamp(at_ms // 1000, UTC) + timedelta(milliseconds=at_ms % 1000)
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}".encode()


LEAD_MS = 5_000
"""Log lines so short before the first answer are of the job, which is being submitted."""

_FIRST_REQUEST = "/overview"
_JOBS = "/jobs/overview"


@dataclass(slots=True)
class _Answers:
    at_ms: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)

    def add(self, at_ms: int, offset: int) -> None:
        self.at_ms.append(at_ms)
        self.offsets.append(offset)

    def until(self, at_ms: int) -> int | None:
        index = bisect_right(self.at_ms, at_ms)
        return self.offsets[index - 1] if index else None


class Tape:
    """A recording. Raises ``Refused`` without a ``rest.jsonl`` with a job. ``jobs``: id → name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "rest.jsonl"
        self._paths: dict[str, _Answers] = {}
        self._metrics: dict[str, dict[str, _Answers]] = {}
        self._poll_ends_ms: list[int] = []
        self.jobs: dict[str, str] = {}
        listed_ms = self._read_index()
        if listed_ms is None:
            raise Refused(f"{folder} cannot be played: no rest.jsonl in it lists a job.")
        self.began_ms, self.ended_ms = listed_ms, self._poll_ends_ms[-1]
        self.logs = tuple(sorted((folder / "logs").glob("*.log")))

    @property
    def length_ms(self) -> int:
        return self.ended_ms - self.began_ms

    def answer(self, path: str, at_ms: int) -> tuple[int, Any] | None:
        """Status and body of the last complete poll, so that each listed job has an answer."""
        answers = self._paths.get(path)
        offset = answers.until(self._last_poll_end(at_ms)) if answers else None
        if offset is None:
            return None
        entry = self._entry(offset)
        return entry["status"], entry["body"]

    def metrics(self, owner: str, ids: list[str], at_ms: int) -> list[dict[str, Any]] | None:
        """``owner``: the path before ``/metrics``. Metrics that were not recorded are left out."""
        by_name = self._metrics.get(owner)
        if by_name is None:
            return None
        until = self._last_poll_end(at_ms)
        answers = {name: by_name[name].until(until) for name in ids if name in by_name}
        entries = {
            offset: _values(self._entry(offset))
            for offset in set(answers.values())
            if offset is not None
        }
        values = []
        for name, offset in answers.items():
            entry = {} if offset is None else entries[offset]
            name_in_entry = name if name in entry else name.partition(".")[2]
            if name_in_entry in entry:
                values.append({"id": name, "value": entry[name_in_entry]})
        return values

    def lines(self, log: Path, from_ms: int) -> Iterator[tuple[int, bytes]]:
        """Times and lines from ``from_ms`` on. A line without time has the previous line's."""
        at_ms: int | None = None
        with log.open("rb") as file:
            for line in file:
                line_time_ms = line_ms(line)
                at_ms = at_ms if line_time_ms is None else line_time_ms
                if at_ms is not None and from_ms <= at_ms <= self.ended_ms + 1_000:
                    yield at_ms, line

    def _last_poll_end(self, at_ms: int) -> int:
        index = bisect_right(self._poll_ends_ms, at_ms)
        return self._poll_ends_ms[index - 1] if index else 0

    def _entry(self, offset: int) -> dict[str, Any]:
        with self._file.open("rb") as file:
            file.seek(offset)
            entry: dict[str, Any] = json.loads(file.readline())
        return entry

    def _read_index(self) -> int | None:
        listed_ms = last_ms = None
        offset = 0
        try:
            lines = self._file.open("rb")
        except OSError as error:
            raise Refused(f"{self._file} cannot be read: {error.strerror}.") from error
        with lines:
            for line in lines:
                entry = json.loads(line)
                at_ms, path = round(entry["ts"] * 1000), entry["path"]
                if entry.get("method", "GET") == "GET" and entry["status"]:
                    if path == _FIRST_REQUEST and last_ms is not None:
                        self._poll_ends_ms.append(last_ms)
                    if path == _JOBS and entry["body"].get("jobs"):
                        listed_ms = listed_ms or at_ms
                        self.jobs |= {job["jid"]: job["name"] for job in entry["body"]["jobs"]}
                    self._file_answer(path, at_ms, offset, entry["body"])
                    last_ms = at_ms
                offset += len(line)
        if last_ms is not None:
            self._poll_ends_ms.append(last_ms)
        return listed_ms

    def _file_answer(self, path: str, at_ms: int, offset: int, body: Any) -> None:
        owner, is_metrics, _query = path.partition("/metrics?get=")
        if not is_metrics:
            self._paths.setdefault(path, _Answers()).add(at_ms, offset)
            return
        vertex, is_subtask, subtask = owner.partition("/subtasks/")
        prefix = f"{subtask}." if is_subtask else ""
        for name in _values({"body": body}):
            self._metrics.setdefault(vertex, {}).setdefault(prefix + name, _Answers()).add(
                at_ms, offset
            )


def _values(entry: dict[str, Any]) -> dict[str, str]:
    body = entry["body"]
    return (
        {metric["id"]: metric["value"] for metric in body if "value" in metric}
        if isinstance(body, list)
        else {}
    )
