"""Records a cluster: ``rest.jsonl`` with ``{ts, path, status, body}`` in each line, ``logs/``, and
``scenario.json``, which says what was recorded and when.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from ingest.errors import IngestError, Refused
from ingest.flink_logs.documents import READ_BYTES
from ingest.flink_logs.endpoint import MAX_FILE_BYTES, listed_logs
from ingest.flink_logs.files import UNREADABLE, LogFile, find, unreadable
from ingest.flink_rest.address import Address, parse_address
from ingest.flink_rest.client import Gate, client_of
from ingest.flink_rest.collector import Collected, collect_cluster
from ingest.flink_rest.limits import RequestLimits
from ingest.json_members import object_list
from ingest.messages import count_text
from ingest.records import Skip
from ingest.redaction.documents import redact_document
from ingest.redaction.marks import redact_keys
from ingest.redaction.texts import LINES_AFTER, redact
from ingest.sources import ClusterSource

DROPPED_KEYS = frozenset({"user-config", "system-properties", "environment", "env"})

DEEPEST = 60
LONGEST_CONTEXT = 4_096


def masked(body: Any, address: Address) -> Any:
    return redact_document(_drop(body, address))


def _drop(body: Any, address: Address, depth: int = 0) -> Any:
    if depth > DEEPEST:
        return None
    if isinstance(body, str):
        return address.hide(body)
    if isinstance(body, list):
        return [_drop(item, address, depth + 1) for item in body]
    if isinstance(body, dict):
        return {
            key: _empty_value(value) if key in DROPPED_KEYS else _drop(value, address, depth + 1)
            for key, value in body.items()
        }
    return body


def _empty_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {}
    return [] if isinstance(value, list) else None


class MaskedLog:
    """Masks a log piece by piece. A key may begin in one piece and end in another."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._in_key = False
        self._context = ""

    def masked(self, lines: bytes) -> bytes:
        text, self._in_key = redact_keys(
            lines.decode("utf-8", "surrogateescape"), open_before=self._in_key
        )
        text = self._address.hide(text)
        redacted = redact(self._context + text)
        hidden = (
            redacted[len(self._context) :] if redacted.startswith(self._context) else redact(text)
        )
        self._context = "".join(
            (self._context + hidden)[-LONGEST_CONTEXT:].splitlines(keepends=True)[-LINES_AFTER:]
        )
        return hidden.encode("utf-8", "surrogateescape")


HEAD_BYTES = 256


@dataclass(slots=True)
class _Copy:
    target: Path
    head: str
    log: MaskedLog
    read_to: int = 0
    incomplete_line: bytes = b""


@dataclass(slots=True)
class LogCopies:
    """Files are distinguished by their first bytes."""

    globs: tuple[str, ...]
    folder: Path
    address: Address
    left_bytes: int
    skips: list[Skip] = field(default_factory=list)
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _roll_count: int = 0

    def copy_new(self) -> None:
        files, skips = find(self.globs)
        self._note(skips)
        for file in files:
            try:
                self._copy(file)
            except UNREADABLE as error:
                self._note([unreadable(file.path, error)])

    def close(self) -> None:
        for copy in self._copies.values():
            if copy.incomplete_line:
                self._write(copy, copy.incomplete_line + b"\n")
                copy.incomplete_line = b""

    def add_whole(self, name: str, content: bytes) -> None:
        self._write(_Copy(self.folder / name, "", MaskedLog(self.address)), content)

    def _copy(self, file: LogFile) -> None:
        with file.open() as stream:
            head = sha256(stream.read(HEAD_BYTES)).hexdigest()
            copy = self._copies.get(file.path)
            if copy is None or (copy.read_to >= HEAD_BYTES and copy.head != head):
                copy = self._copies[file.path] = self._begin(file, copy)
            if copy.read_to < HEAD_BYTES:
                copy.head = head
            stream.seek(copy.read_to)
            while self.left_bytes > 0 and (data := stream.read(READ_BYTES)):
                copy.read_to += len(data)
                lines, newline, copy.incomplete_line = (copy.incomplete_line + data).rpartition(
                    b"\n"
                )
                self._write(copy, lines + newline)

    def _begin(self, file: LogFile, previous: _Copy | None) -> _Copy:
        if previous and previous.target.exists():
            self._roll_count += 1
            previous.target.rename(
                previous.target.with_name(f"{previous.target.name}.{9000 + self._roll_count}")
            )
        return _Copy(self._target(file.path), "", MaskedLog(self.address))

    def _target(self, path: str) -> Path:
        name = path.rsplit("/", 1)[-1]
        for suffix in (".gz", ".bz2", ".xz"):
            name = name.removesuffix(suffix)
        other_targets = {copy.target for source, copy in self._copies.items() if source != path}
        target = self.folder / name
        # Logs of several hosts may have the same name; then each gets a folder.
        number = 1
        while target in other_targets:
            number += 1
            target = self.folder / str(number) / name
        return target

    def _write(self, copy: _Copy, lines: bytes) -> None:
        if not lines:
            return
        try:
            copy.target.parent.mkdir(parents=True, exist_ok=True)
            with copy.target.open("ab") as out:
                self.left_bytes -= out.write(copy.log.masked(lines))
        except OSError as error:
            raise Refused(
                f"The recording in {self.folder} cannot be written ({error.strerror})."
            ) from error

    def _note(self, skips: list[Skip]) -> None:
        subjects = {skip.subject for skip in self.skips}
        self.skips += [skip for skip in skips if skip.subject not in subjects]


LIMITS = RequestLimits(
    requests=20_000,
    requests_per_job=5_000,
    taskmanagers_per_cycle=200,
    small_job_subtasks=1_000_000,
    cycle_timeout_s=120,
)


@dataclass(slots=True)
class RecordSummary:
    directory: str
    answers: int = 0
    bytes_written: int = 0
    jobs: dict[str, str | None] = field(default_factory=dict)
    flink_version: str | None = None
    skips: int = 0
    stopped_by: str = "time"
    error: str | None = None


async def record(
    source: ClusterSource,
    directory: Path,
    *,
    seconds: float,
    every_s: float,
    max_bytes: int,
    at: Callable[[], datetime],
    progress: Callable[[str], None] = lambda _: None,
    gate: Gate | None = None,
) -> RecordSummary:
    address = parse_address(source.url, source.auth)
    started = at()
    summary = RecordSummary(str(directory))
    gate = gate or Gate()
    logs = LogCopies(source.logs.globs, directory / "logs", address, max_bytes // 2)
    with _create_file(directory) as out:
        answers = _AnswerFile(out, address, at, max_bytes - max_bytes // 2, summary)
        try:
            await _poll(
                replace(source, metrics_interval_s=every_s),
                answers,
                logs,
                summary,
                seconds,
                every_s,
                gate,
                progress,
            )
        finally:
            # Also after Ctrl-C, so that the recording is complete so far.
            logs.copy_new()
            logs.close()
            if not source.logs.globs:
                await _copy_from_endpoint(source, logs, gate)
            summary.bytes_written = answers.written + (max_bytes // 2 - logs.left_bytes)
            summary.skips += len(logs.skips)
            _write_scenario(directory, source, summary, started, at())
    return summary


async def _poll(
    source: ClusterSource,
    answers: "_AnswerFile",
    logs: LogCopies,
    summary: RecordSummary,
    seconds: float,
    every_s: float,
    gate: Gate,
    progress: Callable[[str], None],
) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    cursor: dict[str, Any] = {}
    while True:
        start_s = loop.time()
        cluster = await collect_cluster(
            source,
            cursor,
            answers.at,
            limits=LIMITS,
            gate=gate,
            cycle_s=every_s,
            on_answer=answers.take,
        )
        cursor = cluster.cursor
        _note(summary, cluster)
        await asyncio.to_thread(logs.copy_new)
        progress(cluster.error or count_text(summary.answers, "answer"))
        if answers.full or logs.left_bytes <= 0:
            summary.stopped_by = "size"
            return
        if loop.time() + every_s > end:
            return
        await asyncio.sleep(max(0.0, every_s - (loop.time() - start_s)))


def _note(summary: RecordSummary, collected: Collected) -> None:
    summary.flink_version = collected.flink_version or summary.flink_version
    summary.skips += len(collected.skips)
    summary.error = collected.error


@dataclass(slots=True)
class _AnswerFile:
    out: IO[str]
    address: Address
    at: Callable[[], datetime]
    left_bytes: int
    summary: RecordSummary
    written: int = 0

    @property
    def full(self) -> bool:
        return self.written >= self.left_bytes

    def take(self, path: str, status: int, body: Any) -> None:
        if self.full:
            return
        entry = {
            "ts": round(self.at().timestamp(), 3),
            "path": path,
            "status": status,
            "body": masked(body, self.address),
        }
        if path == "/jobs/overview":
            for job in object_list(body, "jobs"):
                if isinstance(job.get("jid"), str):
                    name = job.get("name")
                    self.summary.jobs[job["jid"]] = name if isinstance(name, str) else None
        line = json.dumps(entry, separators=(",", ":")) + "\n"
        try:
            self.written += self.out.write(line)
            self.out.flush()
        except OSError as error:
            raise Refused(
                f"The recording cannot be written any further ({error.strerror}); what is there "
                "can be imported."
            ) from error
        self.summary.answers += 1


async def _copy_from_endpoint(source: ClusterSource, logs: LogCopies, gate: Gate) -> None:
    try:
        async with client_of(source, source.url, gate) as client:
            for file in listed_logs(await client.get("/jobmanager/logs")):
                if file.size > min(MAX_FILE_BYTES, logs.left_bytes):
                    continue
                content = bytearray()
                async for piece in client.stream(f"/jobmanager/logs/{quote(file.name)}"):
                    content += piece
                    if len(content) > MAX_FILE_BYTES:
                        break
                logs.add_whole(file.name, bytes(content))
    except IngestError:
        # Many clusters have no log files, and a dead cluster does not answer.
        return


def _create_file(directory: Path) -> IO[str]:
    path = directory / "rest.jsonl"
    if path.exists():
        raise Refused(f"{directory} holds a recording already; choose another folder.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise Refused(
            f"The recording cannot be written to {directory} ({error.strerror})."
        ) from error


def _write_scenario(
    directory: Path,
    source: ClusterSource,
    summary: RecordSummary,
    started: datetime,
    ended: datetime,
) -> None:
    document: dict[str, Any] = {
        "version": summary.flink_version,
        "scenario": "recorded",
        "description": f"recorded from {parse_address(source.url, None).base}",
        "started": round(started.timestamp(), 3),
        "ended": round(ended.timestamp(), 3),
        "log_time_zone": source.logs.time_zone,
        "jobs": [{"id": job_id, "name": name, "args": []} for job_id, name in summary.jobs.items()],
    }
    (directory / "scenario.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
