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
from ingest.json_members import member, object_list
from ingest.records import Checkpoint, Skip


@dataclass(frozen=True, slots=True)
class ListedJob:
    """One entry of ``/jobs/overview``, the body of ``answer``. Times are epoch ms, 0 or negative if
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
    results = ParseResults()
    jobs_by_id = {}
    for place, entry in results.each(results.parse(jobs.overview_entries, overview), overview):
        if job := results.parse(jobs.job, overview, place, body=entry, place=place):
            answer = Answer(overview.path, overview.at, entry)
            state = jobs.state_in(entry)
            jobs_by_id[job.job_id] = ListedJob(
                job.job_id,
                state,
                _integer(entry, "last-modification"),
                _integer(entry, "end-time"),
                answer,
            )
    return list(jobs_by_id.values()), results.skips()


def _integer(entry: dict[str, Any], name: str) -> int:
    value = entry.get(name)
    return value if isinstance(value, int) else 0


DUE_SLACK = 0.8
"""Share of an interval after which a sample is due: cycles are not at exact times."""


def needs_attention(job: ListedJob, cursor: JobCursor) -> bool:
    """Whether the job does not run, has changed, or was never read: then all is read now."""
    return (
        job.state != "RUNNING"
        or job.modified_ms != cursor.modified_ms
        or job.state != cursor.state
        or not cursor.full_at
    )


@dataclass(slots=True)
class JobReader:
    session: RestSession
    limits: RequestLimits
    sampling_rate: SamplingRate
    flink_version: str | None
    jobmanager_config: Answer | None = None
    measured_elsewhere: bool = False

    async def read(self, job: ListedJob, cursor: JobCursor) -> JobAnswers:
        return await _JobReading(self, job, cursor).read()


class _JobReading:
    def __init__(self, reader: JobReader, job: ListedJob, cursor: JobCursor) -> None:
        self.reader, self.session, self.limits = reader, reader.session, reader.limits
        self.job, self.cursor = job, cursor
        self.path = f"/jobs/{job.job_id}"
        self.answers = JobAnswers(
            job.job_id,
            reader.flink_version,
            overview=job.answer,
            measured_elsewhere=reader.measured_elsewhere,
        )
        self.now_s = self.session.at().timestamp()
        self.budget = Budget(self.limits.requests_per_job, self.session.budget)
        self.reads_all = needs_attention(job, cursor)

    async def read(self) -> JobAnswers:
        answers, cursor = self.answers, self.cursor
        path = f"{self.path}/checkpoints"
        answers.checkpoints = await self.session.get(path, may_be_gone=True)
        cursor.initializing_at = self.session.skip_lasting([path], cursor.initializing_at)
        self.reads_all |= self._has_new_failures()
        await self._read_job()
        if not self.job.terminal:
            await self._read_vertices()
        await self._read_checkpoints()
        cursor.ended = self.job.terminal and answers.job is not None and self.budget.left_out == 0
        return answers

    def _has_new_failures(self) -> bool:
        counters = ParseResults().parse(counts, self.answers.checkpoints) or {}
        failed, previous = counters.get("checkpoints_failed"), self.cursor.failed
        self.cursor.failed = previous if failed is None else failed
        return previous is not None and self.cursor.failed != previous

    async def _read_job(self) -> None:
        job, answers, cursor, path = self.job, self.answers, self.cursor, self.path
        rate = self.reader.sampling_rate
        every_s = self.limits.refresh_s if rate.lean else rate.metrics_interval_s * DUE_SLACK
        if not self.reads_all and not is_due(self.now_s, cursor.full_at, every_s):
            return
        if not self.budget.take(3):
            return
        answers.job, answers.exceptions, answers.job_metrics = await asyncio.gather(
            self.session.get(path),
            self.session.get(f"{path}/exceptions"),
            self.session.get(f"{path}/metrics?get={','.join(ids(JOB_METRICS))}", may_be_gone=True),
        )
        if answers.job is None:
            return
        self._drop_known_exceptions()
        if job.modified_ms != cursor.modified_ms:
            cursor.reported = []
        cursor.full_at, cursor.state, cursor.modified_ms = self.now_s, job.state, job.modified_ms
        cursor.vertices = _vertices(answers.job.body)
        if member(answers.job.body, "state") == "INITIALIZING":
            return  # there is no graph, and settings are placeholders or missing (1.12)
        has_old_settings = is_due(self.now_s, cursor.static_at, self.limits.static_refresh_s)
        if has_old_settings and self.budget.take(2):
            await self._read_settings()
        if not plan.is_in(answers.job.body) and self.budget.take():
            answers.plan = await self.session.get(f"{path}/plan", may_be_gone=True)

    async def _read_settings(self) -> None:
        checkpoint_config_path = f"{self.path}/checkpoints/config"
        self.answers.config, self.answers.checkpoint_config = await asyncio.gather(
            self.session.get(f"{self.path}/config", may_be_gone=True),
            self.session.get(checkpoint_config_path, may_be_gone=True),
        )
        if self.session.gone.get(checkpoint_config_path) == NO_CHECKPOINTS:
            # Archives have the same body. The checkpoint list is also empty in other cases.
            body = {"errors": [SAYS_NO_CHECKPOINTS]}
            self.answers.checkpoint_config = Answer(checkpoint_config_path, self.session.at(), body)
        self.answers.jobmanager_config = self.reader.jobmanager_config
        self.cursor.static_at = self.now_s

    def _drop_known_exceptions(self) -> None:
        if self.answers.exceptions is None:
            return
        previous = self.cursor.exceptions
        text = json.dumps(self.answers.exceptions.body, sort_keys=True)
        self.cursor.exceptions = zlib.crc32(text.encode())
        if self.cursor.exceptions == previous:
            self.answers.exceptions = None

    async def _read_vertices(self) -> None:
        cursor, rate = self.cursor, self.reader.sampling_rate
        every_s = rate.metrics_interval_s * DUE_SLACK
        if not self.reads_all and not is_due(self.now_s, cursor.metrics_at, every_s):
            return
        reader = VertexReader(
            self.session, self.limits, self.budget, self.answers, cursor, lean=rate.lean
        )
        await reader.read(with_placement=self.answers.job is not None)
        if not self.session.down:
            cursor.metrics_at = self.now_s
            cursor.turn += 1

    async def _read_checkpoints(self) -> None:
        answers = self.answers
        if answers.checkpoints is None:
            return
        rows = listed_checkpoints(answers.checkpoints, answers.job_id, answers.flink_version)
        checkpoints = [row for row in rows if isinstance(row, Checkpoint)]
        lean = self.reader.sampling_rate.lean
        selection = CheckpointSelection(checkpoints, self.cursor, self.limits, lean)
        detailed: list[tuple[int, int]] = []
        for checkpoint in selection.to_detail(self.now_s):
            if not self.budget.take():
                continue
            path = f"{self.path}/checkpoints/details/{checkpoint.checkpoint_id}"
            details = await self.session.get(path, may_be_gone=True)
            if details is None:
                # Not requested again: the latest savepoint and failure stay listed for long.
                if path in self.session.gone:
                    detailed.append(key_of(checkpoint))
                continue
            detailed.append(key_of(checkpoint))
            if is_of_another_job(details.body, [key_of(checkpoint)], checkpoint.checkpoint_id):
                continue
            answers.details[checkpoint.checkpoint_id] = details
            if selection.needs_subtasks(checkpoint):
                await self._read_subtasks(checkpoint, details)
        answers.checkpoint_rows = tuple(
            row for row in rows if not isinstance(row, Checkpoint) or selection.is_new(row)
        )
        selection.remember(detailed)

    async def _read_subtasks(self, checkpoint: Checkpoint, details: Answer) -> None:
        vertex_ids = _vertices_to_read(details, unfinished_only=not is_final(checkpoint))
        if not self.budget.take(len(vertex_ids)):
            return
        paths = [f"{details.path}/subtasks/{vertex_id}" for vertex_id in vertex_ids]
        answers = await asyncio.gather(
            *(self.session.get(path, may_be_gone=True) for path in paths)
        )
        for vertex_id, answer in zip(vertex_ids, answers, strict=True):
            if answer is not None:
                self.answers.subtasks[checkpoint.checkpoint_id, vertex_id] = answer


def _vertices(body: Any) -> dict[str, int]:
    return {
        vertex["id"]: vertex["parallelism"]
        for vertex in object_list(body, "vertices")
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
