"""Reads one job once: what is due of it, in the order of what matters, within the cycle's budget."""

import asyncio
import json
import zlib
from dataclasses import dataclass
from typing import Any

from ingest.due import is_due
from ingest.flink_ids import is_flink_id
from ingest.flink_rest import checkpoint_choice
from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.cursor import JobCursor
from ingest.flink_rest.limits import Budget, RequestLimits, SamplingRate
from ingest.flink_rest.metric_names import JOB_METRICS, ids
from ingest.flink_rest.payloads.jobs import state_in
from ingest.flink_rest.payloads.vertices import MAX_PARALLELISM
from ingest.flink_rest.session import RestSession
from ingest.flink_rest.vertex_reader import VertexReader

TERMINAL_STATES = frozenset({"FINISHED", "CANCELED", "FAILED"})
DUE_SLACK = 0.8
"""A cycle that starts a little early still finds due what is due about now."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of ``/jobs/overview`` and what decides how it is read."""

    job_id: str
    state: str
    modified_ms: int
    answer: Answer

    @property
    def terminal(self) -> bool:
        """It will never run again."""
        return self.state in TERMINAL_STATES


def listed(job_id: str, answer: Answer) -> Listed:
    """From the answer that ``assembly.overview_of_jobs`` made of one entry."""
    body: dict[str, Any] = answer.body if isinstance(answer.body, dict) else {}
    modified = body.get("last-modification")
    return Listed(job_id, state_in(body), modified if isinstance(modified, int) else 0, answer)


def in_trouble(job: Listed, cursor: JobCursor) -> bool:
    """It changed since it was read, does not run, or is new: such jobs are never slowed down."""
    return job.state != "RUNNING" or job.modified_ms != cursor.modified_ms or job.state != cursor.state or not cursor.full_at


@dataclass(slots=True)
class JobReader:
    """One cycle's reader of the jobs of one cluster; ``jobmanager_config`` is shared by all of them."""

    session: RestSession
    limits: RequestLimits
    sampling_rate: SamplingRate
    flink_version: str | None
    jobmanager_config: Answer | None = None
    second_look: bool = False
    """Ask again after a pause what Flink answers empty the first time; for a handful of new jobs only."""

    async def read(self, job: Listed, cursor: JobCursor) -> JobAnswers:
        """Everything due of ``job``; ``cursor`` is brought up to what was answered."""
        reading = JobAnswers(job.job_id, self.flink_version, overview=job.answer)
        now_s = self.session.at().timestamp()
        troubled = in_trouble(job, cursor)
        budget = Budget(self.limits.requests_per_job, self.session.budget)
        reading.checkpoints = await self.session.get(f"/jobs/{job.job_id}/checkpoints", may_be_gone=True)
        troubled = self._notice_failures(reading.checkpoints, cursor) or troubled
        await self._read_job(job, reading, cursor, budget, now_s, troubled)
        if not job.terminal:
            await self._read_vertices(job, reading, cursor, budget, now_s, troubled)
        await self._read_checkpoints(reading, cursor, budget, now_s)
        cursor.ended = job.terminal and reading.job is not None and budget.left_out == 0
        return reading

    def _notice_failures(self, checkpoints: Answer | None, cursor: JobCursor) -> bool:
        """Whether more checkpoints failed than at the last reading."""
        body = checkpoints.body if checkpoints else None
        counts = body.get("counts") if isinstance(body, dict) else None
        failed = counts.get("failed") if isinstance(counts, dict) else None
        before, cursor.failed = cursor.failed, failed if isinstance(failed, int) else cursor.failed
        return before is not None and cursor.failed != before

    async def _read_job(self, job: Listed, reading: JobAnswers, cursor: JobCursor, budget: Budget, now_s: float, troubled: bool) -> None:
        """The job itself, its exceptions and restarts: when it changed, else now and then."""
        every_s = self.limits.refresh_s if self.sampling_rate.lean else self.sampling_rate.metrics_interval_s * DUE_SLACK
        if not troubled and not is_due(now_s, cursor.full_at, every_s):
            return
        if not budget.take(3):
            return
        path = f"/jobs/{job.job_id}"
        reading.job, reading.exceptions, reading.job_metrics = await asyncio.gather(
            self.session.get(path),
            self.session.get(f"{path}/exceptions"),
            self.session.get(f"{path}/metrics?get={','.join(ids(JOB_METRICS))}", may_be_gone=True),
        )
        if reading.job is None:
            return
        self._drop_known_exceptions(reading, cursor)
        if job.modified_ms != cursor.modified_ms:
            cursor.reported = []
        cursor.full_at, cursor.state, cursor.modified_ms = now_s, job.state, job.modified_ms
        cursor.vertices = _vertices(reading.job.body)
        if is_due(now_s, cursor.static_at, self.limits.static_refresh_s) and budget.take(2):
            reading.config, reading.checkpoint_config = await asyncio.gather(
                self.session.get(f"{path}/config", may_be_gone=True), self.session.get(f"{path}/checkpoints/config", may_be_gone=True)
            )
            reading.jobmanager_config = self.jobmanager_config
            cursor.static_at = now_s
        if not _has_plan(reading.job.body) and budget.take():
            reading.plan = await self.session.get(f"{path}/plan", may_be_gone=True)

    def _drop_known_exceptions(self, reading: JobAnswers, cursor: JobCursor) -> None:
        """The same history of exceptions (up to a megabyte of stack traces) is kept once, not once per cycle."""
        if reading.exceptions is not None:
            before, cursor.exceptions = cursor.exceptions, zlib.crc32(json.dumps(reading.exceptions.body, sort_keys=True).encode())
            if cursor.exceptions == before:
                reading.exceptions = None

    async def _read_vertices(
        self, job: Listed, reading: JobAnswers, cursor: JobCursor, budget: Budget, now_s: float, troubled: bool
    ) -> None:
        every_s = (
            self.sampling_rate.metrics_interval_s if not troubled else min(self.sampling_rate.metrics_interval_s, self.limits.refresh_s)
        )
        if not troubled and not is_due(now_s, cursor.metrics_at, every_s * DUE_SLACK):
            return
        reader = VertexReader(self.session, self.limits, self.sampling_rate.lean, self.flink_version, budget)
        await reader.read(
            job.job_id, reading, cursor, placed=reading.job is not None, second_look=self.second_look and not cursor.metrics_at
        )
        if not self.session.down:
            cursor.metrics_at = now_s
            cursor.turn += 1

    async def _read_checkpoints(self, reading: JobAnswers, cursor: JobCursor, budget: Budget, now_s: float) -> None:
        """Details of what is news; afterwards the list is cut down to news."""
        if reading.checkpoints is None:
            return
        seen = checkpoint_choice.entries(reading.checkpoints.body)
        now_ms, lean = int(now_s * 1000), self.sampling_rate.lean
        wanted = [entry for entry in seen if checkpoint_choice.wants_details(entry, seen, cursor, now_ms, self.limits, lean)]
        detailed: set[tuple[int, int]] = set()
        for entry in checkpoint_choice.by_urgency(wanted):
            if not budget.take():
                continue
            path = f"/jobs/{reading.job_id}/checkpoints/details/{entry.checkpoint_id}"
            details = await self.session.get(path, may_be_gone=True)
            if details is None:
                # The latest savepoint and failure are listed long after their details are gone: asked once.
                if path in self.session.gone:
                    detailed.add(entry.key)
                continue
            reading.details[entry.checkpoint_id] = details
            if checkpoint_choice.wants_subtasks(entry, seen, self.limits, self.sampling_rate.lean):
                await self._read_subtasks(reading, entry, path, details, budget)
            detailed.add(entry.key)
        body = checkpoint_choice.news_only(reading.checkpoints.body, cursor)
        reading.checkpoints = Answer(reading.checkpoints.path, reading.checkpoints.at, body)
        checkpoint_choice.remember(cursor, seen, detailed)

    async def _read_subtasks(self, reading: JobAnswers, entry: checkpoint_choice.Entry, path: str, details: Answer, budget: Budget) -> None:
        vertex_ids = _task_ids(details.body, unfinished_only=not entry.final)
        if not budget.take(len(vertex_ids)):
            return
        answers = await asyncio.gather(*(self.session.get(f"{path}/subtasks/{vertex_id}", may_be_gone=True) for vertex_id in vertex_ids))
        for vertex_id, answer in zip(vertex_ids, answers, strict=True):
            if answer is not None:
                reading.subtasks[entry.checkpoint_id, vertex_id] = answer


def _vertices(body: Any) -> dict[str, int]:
    """Vertex id → parallelism, of whatever is readable and possible; the parser names what is not."""
    vertices = body.get("vertices") if isinstance(body, dict) else None
    found = [vertex for vertex in vertices if isinstance(vertex, dict)] if isinstance(vertices, list) else []
    return {
        vertex["id"]: vertex["parallelism"]
        for vertex in found
        if is_flink_id(vertex.get("id")) and isinstance(vertex.get("parallelism"), int) and 0 < vertex["parallelism"] <= MAX_PARALLELISM
    }


def _task_ids(body: Any, unfinished_only: bool) -> list[str]:
    tasks = body.get("tasks") if isinstance(body, dict) else None
    if not isinstance(tasks, dict):
        return []
    return [
        vertex_id
        for vertex_id, task in tasks.items()
        if is_flink_id(vertex_id)
        and not (unfinished_only and isinstance(task, dict) and task.get("num_subtasks") == task.get("num_acknowledged_subtasks"))
    ]


def _has_plan(body: Any) -> bool:
    return isinstance(body, dict) and bool(body.get("plan"))
