import asyncio
import json
import zlib
from dataclasses import dataclass
from typing import Any

from ingest.due import is_due
from ingest.flink_ids import is_flink_id
from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.assembly import ParseResults, listed_checkpoints
from ingest.flink_rest.checkpoint_selection import (
    CheckpointSelection,
    is_final,
    is_of_another_job,
    key_of,
)
from ingest.flink_rest.cursor import JobCursor
from ingest.flink_rest.faults import NO_CHECKPOINTS, SAYS_NO_CHECKPOINTS
from ingest.flink_rest.limits import Budget, RequestLimits, SamplingRate
from ingest.flink_rest.metric_names import JOB_METRICS, ids
from ingest.flink_rest.payloads import jobs, plan
from ingest.flink_rest.payloads.checkpoint_details import vertex_parts
from ingest.flink_rest.payloads.checkpoints import counts
from ingest.flink_rest.payloads.vertices import MAX_PARALLELISM
from ingest.flink_rest.session import RestSession
from ingest.flink_rest.vertex_reader import VertexReader
from ingest.json_members import member, objects
from ingest.records import Checkpoint, Skip


@dataclass(frozen=True, slots=True)
class ListedJob:
    """One entry of ``/jobs/overview``, the body of ``answer``; times are epoch ms, 0 or less if
    unknown.
    """

    job_id: str
    state: str
    modified_ms: int
    end_ms: int
    answer: Answer

    @property
    def terminal(self) -> bool:
        return self.state in jobs.TERMINAL


def listed_jobs(overview: Answer) -> tuple[list[ListedJob], tuple[Skip, ...]]:
    """Each job once, and the entries that were skipped."""
    results = ParseResults()
    by_id = {}
    for place, entry in results.each(results.parse(jobs.overview_entries, overview), overview):
        if job := results.parse(jobs.job_state, overview, place, body=entry, place=place):
            answer = Answer(overview.path, overview.at, entry)
            state = jobs.state_in(entry)
            by_id[job.job_id] = ListedJob(
                job.job_id,
                state,
                _whole(entry, "last-modification"),
                _whole(entry, "end-time"),
                answer,
            )
    return list(by_id.values()), results.skips()


def _whole(entry: dict[str, Any], name: str) -> int:
    value = entry.get(name)
    return value if isinstance(value, int) else 0


DUE_SLACK = 0.8


def in_trouble(job: ListedJob, cursor: JobCursor) -> bool:
    return (
        job.state != "RUNNING"
        or job.modified_ms != cursor.modified_ms
        or job.state != cursor.state
        or not cursor.full_at
    )


@dataclass(slots=True)
class JobReader:
    """``jobmanager_config`` is shared by all jobs of a cluster."""

    session: RestSession
    limits: RequestLimits
    sampling_rate: SamplingRate
    flink_version: str | None
    jobmanager_config: Answer | None = None
    measured_elsewhere: bool = False

    async def read(self, job: ListedJob, cursor: JobCursor) -> JobAnswers:
        reading = JobAnswers(
            job.job_id,
            self.flink_version,
            overview=job.answer,
            measured_elsewhere=self.measured_elsewhere,
        )
        now_s = self.session.at().timestamp()
        troubled = in_trouble(job, cursor)
        budget = Budget(self.limits.requests_per_job, self.session.budget)
        path = f"/jobs/{job.job_id}/checkpoints"
        reading.checkpoints = await self.session.get(path, may_be_gone=True)
        cursor.initializing_at = self.session.skip_what_lasts([path], cursor.initializing_at)
        troubled = self._notice_failures(reading.checkpoints, cursor) or troubled
        await self._read_job(job, reading, cursor, budget, now_s, troubled)
        if not job.terminal:
            await self._read_vertices(job, reading, cursor, budget, now_s, troubled)
        await self._read_checkpoints(reading, cursor, budget, now_s)
        cursor.ended = job.terminal and reading.job is not None and budget.left_out == 0
        return reading

    def _notice_failures(self, checkpoints: Answer | None, cursor: JobCursor) -> bool:
        failed = (ParseResults().parse(counts, checkpoints) or {}).get("checkpoints_failed")
        before, cursor.failed = cursor.failed, cursor.failed if failed is None else failed
        return before is not None and cursor.failed != before

    async def _read_job(
        self,
        job: ListedJob,
        reading: JobAnswers,
        cursor: JobCursor,
        budget: Budget,
        now_s: float,
        troubled: bool,
    ) -> None:
        every_s = (
            self.limits.refresh_s
            if self.sampling_rate.lean
            else self.sampling_rate.metrics_interval_s * DUE_SLACK
        )
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
        if not _is_initialized(reading.job.body):
            return  # its settings are placeholders, and it has no graph
        if is_due(now_s, cursor.static_at, self.limits.static_refresh_s) and budget.take(2):
            reading.config, reading.checkpoint_config = await asyncio.gather(
                self.session.get(f"{path}/config", may_be_gone=True),
                self.session.get(f"{path}/checkpoints/config", may_be_gone=True),
            )
            of_settings = f"{path}/checkpoints/config"
            if self.session.gone.get(of_settings) == NO_CHECKPOINTS:
                # Archives hold this. The checkpoint list says the same, but also for jobs that are
                # still being initialized.
                body = {"errors": [SAYS_NO_CHECKPOINTS]}
                reading.checkpoint_config = Answer(of_settings, self.session.at(), body)
            reading.jobmanager_config = self.jobmanager_config
            cursor.static_at = now_s
        if not plan.is_in(reading.job.body) and budget.take():
            reading.plan = await self.session.get(f"{path}/plan", may_be_gone=True)

    def _drop_known_exceptions(self, reading: JobAnswers, cursor: JobCursor) -> None:
        if reading.exceptions is not None:
            before, cursor.exceptions = (
                cursor.exceptions,
                zlib.crc32(json.dumps(reading.exceptions.body, sort_keys=True).encode()),
            )
            if cursor.exceptions == before:
                reading.exceptions = None

    async def _read_vertices(
        self,
        job: ListedJob,
        reading: JobAnswers,
        cursor: JobCursor,
        budget: Budget,
        now_s: float,
        troubled: bool,
    ) -> None:
        every_s = (
            self.sampling_rate.metrics_interval_s
            if not troubled
            else min(self.sampling_rate.metrics_interval_s, self.limits.refresh_s)
        )
        if not troubled and not is_due(now_s, cursor.metrics_at, every_s * DUE_SLACK):
            return
        reader = VertexReader(
            self.session, self.limits, self.sampling_rate.lean, self.flink_version, budget
        )
        await reader.read(
            job.job_id,
            reading,
            cursor,
            placed=reading.job is not None,
        )
        if not self.session.down:
            cursor.metrics_at = now_s
            cursor.turn += 1

    async def _read_checkpoints(
        self, reading: JobAnswers, cursor: JobCursor, budget: Budget, now_s: float
    ) -> None:
        if reading.checkpoints is None:
            return
        rows = listed_checkpoints(reading.checkpoints, reading.job_id, self.flink_version)
        listed = [row for row in rows if isinstance(row, Checkpoint)]
        selection = CheckpointSelection(listed, cursor, self.limits, self.sampling_rate.lean)
        detailed: list[tuple[int, int]] = []
        for checkpoint in selection.for_details(now_s):
            if not budget.take():
                continue
            path = f"/jobs/{reading.job_id}/checkpoints/details/{checkpoint.checkpoint_id}"
            details = await self.session.get(path, may_be_gone=True)
            if details is None:
                # The latest savepoint and failure stay listed long after their details are gone, so
                # these are requested once.
                if path in self.session.gone:
                    detailed.append(key_of(checkpoint))
                continue
            if is_of_another_job(details.body, [key_of(checkpoint)], checkpoint.checkpoint_id):
                detailed.append(key_of(checkpoint))
                continue
            reading.details[checkpoint.checkpoint_id] = details
            if selection.wants_subtasks(checkpoint):
                await self._read_subtasks(reading, checkpoint, details, budget)
            detailed.append(key_of(checkpoint))
        reading.checkpoint_rows = tuple(
            row for row in rows if not isinstance(row, Checkpoint) or selection.is_new(row)
        )
        selection.remember(detailed)

    async def _read_subtasks(
        self, reading: JobAnswers, checkpoint: Checkpoint, details: Answer, budget: Budget
    ) -> None:
        vertex_ids = _vertices_to_read(details, unfinished_only=not is_final(checkpoint))
        if not budget.take(len(vertex_ids)):
            return
        paths = [f"{details.path}/subtasks/{vertex_id}" for vertex_id in vertex_ids]
        answers = await asyncio.gather(
            *(self.session.get(path, may_be_gone=True) for path in paths)
        )
        for vertex_id, answer in zip(vertex_ids, answers, strict=True):
            if answer is not None:
                reading.subtasks[checkpoint.checkpoint_id, vertex_id] = answer


def _is_initialized(body: Any) -> bool:
    """Before, its state backend is "Unknown", and 1.12 has no checkpoint settings at all."""
    return bool(member(body, "state") != "INITIALIZING")


def _vertices(body: Any) -> dict[str, int]:
    return {
        vertex["id"]: vertex["parallelism"]
        for vertex in objects(body, "vertices")
        if is_flink_id(vertex.get("id"))
        and isinstance(vertex.get("parallelism"), int)
        and 0 < vertex["parallelism"] <= MAX_PARALLELISM
    }


def _vertices_to_read(details: Answer, *, unfinished_only: bool) -> list[str]:
    tasks = ParseResults().parse(vertex_parts, details) or {}
    return [
        vertex_id
        for vertex_id, task in tasks.items()
        if is_flink_id(vertex_id)
        and not (
            unfinished_only
            and isinstance(task, dict)
            and task.get("num_subtasks") == task.get("num_acknowledged_subtasks")
        )
    ]
