"""Record a running cluster: what a collector would ask, every few seconds, answers kept as they
came (secrets masked).

The folder is what ``python -m ingest import`` reads: ``rest.jsonl`` with ``{ts, path, status,
body}`` a line, ``logs/``, and ``scenario.json`` that says what was recorded and when.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from ingest.errors import IngestError, Refused
from ingest.figures import count_text
from ingest.flink_logs.endpoint import MAX_FILE_BYTES, listed_logs
from ingest.flink_rest.address import Address, parse_address
from ingest.flink_rest.client import client_of
from ingest.flink_rest.collector import Collected, collect_cluster
from ingest.flink_rest.gate import Gate
from ingest.flink_rest.limits import RequestLimits
from ingest.recordings.log_copies import LogCopies
from ingest.recordings.masking import masked
from ingest.sources import ClusterSource

LIMITS = RequestLimits(
    requests=20_000,
    requests_per_job=5_000,
    taskmanagers_per_cycle=200,
    small_job_subtasks=1_000_000,
    cycle_timeout_s=120,
)
"""A recording is short and made to find something out: it leaves little out."""


@dataclass(slots=True)
class RecordSummary:
    directory: str
    polls: int = 0
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
    """Raises ``Refused`` where the folder holds a recording already or cannot be written."""
    address = parse_address(source.url, source.auth)
    started = at()
    summary = RecordSummary(str(directory))
    gate = gate or Gate()
    logs = LogCopies(source.logs.globs, directory / "logs", address, max_bytes // 2)
    with _fresh(directory) as out:
        answers = _AnswerFile(out, address, at, max_bytes - max_bytes // 2, summary)
        try:
            await _poll_on(
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
            # Also when stopped by hand: what is there so far is a recording.
            logs.copy_new()
            logs.close()
            if not source.logs.globs:
                await _copy_from_endpoint(source, logs, gate)
            summary.bytes_written = answers.written + (max_bytes // 2 - logs.left_bytes)
            summary.skips += len(logs.skips)
            _write_scenario(directory, source, summary, started, at())
    return summary


async def _poll_on(
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
        begun = loop.time()
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
        progress(
            (
                f"{count_text(summary.polls, 'poll')}, {count_text(summary.answers, 'answer')}, "
                f"{count_text(len(summary.jobs), 'job')}"
            )
            + (f"; {cluster.error}" if cluster.error else "")
        )
        if answers.full or logs.left_bytes <= 0:
            summary.stopped_by = "size"
            return
        if loop.time() + every_s > end:
            return
        await asyncio.sleep(max(0.0, every_s - (loop.time() - begun)))


def _note(summary: RecordSummary, collected: Collected) -> None:
    summary.polls += 1
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
        if path == "/jobs/overview" and isinstance(body, dict):
            self._note_jobs(body.get("jobs"))
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

    def _note_jobs(self, jobs: Any) -> None:
        for job in jobs if isinstance(jobs, list) else ():
            if isinstance(job, dict) and isinstance(job.get("jid"), str):
                self.summary.jobs[job["jid"]] = (
                    job.get("name") if isinstance(job.get("name"), str) else None
                )


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
        # many clusters write no log file at all, and a dead one answers nothing: the rest of the
        # recording stands
        return


def _fresh(directory: Path) -> IO[str]:
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
