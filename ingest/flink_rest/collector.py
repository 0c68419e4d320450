import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from ingest.due import is_due
from ingest.flink_ids import is_taskmanager_id
from ingest.flink_rest import assembly
from ingest.flink_rest.answers import Answer, ClusterAnswers, JobAnswers
from ingest.flink_rest.assembly import ParseResults, add_job
from ingest.flink_rest.client import Gate, OnAnswer, client_of
from ingest.flink_rest.cursor import ClusterCursor, JobCursor, from_json
from ingest.flink_rest.job_reader import (
    DUE_SLACK,
    JobReader,
    ListedJob,
    listed_jobs,
    needs_attention,
)
from ingest.flink_rest.limits import Budget, RequestLimits, SamplingRate, sampling_rate
from ingest.flink_rest.metric_names import TASKMANAGER_METRICS, ids
from ingest.flink_rest.payloads.fields import clean_text
from ingest.flink_rest.session import RestSession
from ingest.flink_rest.versions import MAX_VERSION_CHARS, is_known
from ingest.job_states import NOT_LISTED
from ingest.json_members import member, object_list
from ingest.messages import message
from ingest.records import Job, Observed, Skip
from ingest.sources import ClusterSource

log = logging.getLogger(__name__)

JOBS_AT_ONCE = 2
"""Each job has several concurrent requests: two jobs keep both request slots busy."""

NO_NEW_JOB_AFTER = 0.8
"""Share of the cycle's time limit: a job that is not read to its end is discarded."""

VERTICES_OF_AN_UNREAD_JOB = 4

Cursor = Mapping[str, Any]


async def read_taskmanagers(
    session: RestSession,
    cursor: ClusterCursor,
    cluster: str,
    limits: RequestLimits,
    rate: SamplingRate,
) -> tuple[Observed, ...]:
    now_s = session.at().timestamp()
    oldest = min(cursor.taskmanagers.values(), default=0.0)
    if not is_due(now_s, oldest, rate.metrics_interval_s * DUE_SLACK):
        return ()
    listing = await session.get("/taskmanagers") if session.budget.take() else None
    if listing is None:
        return ()
    names = taskmanager_ids(listing.body)
    cursor.keep_taskmanagers(names)
    due = sorted(names, key=lambda name: cursor.taskmanagers.get(name, 0.0))[
        : limits.taskmanagers_per_cycle
    ]
    reading = ClusterAnswers(taskmanagers=listing)
    await asyncio.gather(
        *(_read_taskmanager(session, name, reading) for name in due if session.budget.take(2))
    )
    for name in names:
        cursor.taskmanagers.setdefault(name, 0.0)
    cursor.taskmanagers.update({name: round(now_s, 1) for name in reading.taskmanager_details})
    return assembly.observe_cluster(reading, cluster)


def taskmanager_ids(body: Any) -> list[str]:
    names = [manager.get("id") for manager in object_list(body, "taskmanagers")]
    return list(dict.fromkeys(name for name in names if is_taskmanager_id(name)))


def taskmanager_path(name: str) -> str:
    return f"/taskmanagers/{quote(name, safe=':')}"


async def _read_taskmanager(session: RestSession, name: str, reading: ClusterAnswers) -> None:
    path = taskmanager_path(name)
    detail, metrics = await asyncio.gather(
        session.get(path, may_be_gone=True),
        session.get(f"{path}/metrics?get={','.join(ids(TASKMANAGER_METRICS))}", may_be_gone=True),
    )
    if detail is not None:
        reading.taskmanager_details[name] = detail
    if metrics is not None:
        reading.taskmanager_metrics[name] = [metrics]


@dataclass(frozen=True, slots=True)
class Collected:
    """``observed`` includes ``skips``. Save ``cursor`` after ``observed`` is in the lake."""

    observed: tuple[Observed, ...]
    cursor: dict[str, Any]
    skips: tuple[Skip, ...]
    requests: int
    reachable: bool
    refused: bool = False
    error: str | None = None
    flink_version: str | None = None
    jobs_seen: int = 0
    metrics_interval_s: float | None = None


async def collect_cluster(
    source: ClusterSource,
    cursor: Cursor,
    at: Callable[[], datetime],
    *,
    limits: RequestLimits | None = None,
    gate: Gate | None = None,
    cycle_s: float = 30,
    on_answer: OnAnswer | None = None,
) -> Collected:
    """Raises ``Refused`` for a bad address, and nothing for a bad answer.

    ``cycle_s``: time between two calls. ``gate``: shared by all clients of the same address.
    """
    limits = limits or RequestLimits()
    client = client_of(source, source.url, gate, on_answer)
    async with client:
        cycle = _Cycle(
            source,
            from_json(cursor),
            RestSession(client, at, Budget(limits.requests)),
            limits,
            cycle_s,
        )
        try:
            async with asyncio.timeout(limits.cycle_timeout_s):
                await cycle.run()
        except TimeoutError:
            cycle.note_timeout()
        return cycle.result()


class _Cycle:
    def __init__(
        self,
        source: ClusterSource,
        cursor: ClusterCursor,
        session: RestSession,
        limits: RequestLimits,
        cycle_s: float,
    ) -> None:
        self.source, self.cursor, self.session, self.limits = source, cursor, session, limits
        self.cycle_s = cycle_s
        self.sampling_rate = SamplingRate(source.metrics_interval_s, lean=False)
        self.observed: list[Observed] = []
        self.unread_jobs: dict[str, ListedJob] = {}
        self.jobs_seen = 0
        self.jobs_read = 0
        self.has_job_list = False
        self.timed_out = self.out_of_time = False
        self.started = time.monotonic()

    async def run(self) -> None:
        overview, answer = await asyncio.gather(
            self.session.get("/overview"), self.session.get("/jobs/overview")
        )
        if answer is None:
            return
        self._note_version(overview)
        jobs, skips = listed_jobs(answer)
        self.session.skips.extend(skips)
        self.has_job_list, self.jobs_seen = True, len(jobs)
        if not skips:
            # If an entry was skipped, a job that is not listed may still be there.
            self._note_listed([job.job_id for job in jobs], answer.at)
        reader = await self._make_reader(jobs)
        await self._read_jobs(reader, jobs)
        self.observed += await read_taskmanagers(
            self.session, self.cursor, self.source.name, self.limits, self.sampling_rate
        )

    def _note_listed(self, job_ids: list[str], at: datetime) -> None:
        vanished = self.cursor.note_listed(job_ids, at.timestamp())
        records = tuple(
            Job(job_id, None, NOT_LISTED, end_time=datetime.fromtimestamp(job.listed_at, UTC))
            for job_id, job in vanished.items()
        )
        if records:
            self.observed.append(Observed(self.source.name, at, "rest", records))

    def note_timeout(self) -> None:
        self.timed_out = True
        read, seen, limit_s = self.jobs_read, self.jobs_seen, self.limits.cycle_timeout_s
        detail = (
            f"The cycle's limit of {limit_s:g} s was reached after {read} of {seen} jobs; "
            "the next cycle reads the others."
        )
        self.session.skip(self.session.client.address.base, "timeout", detail)

    def result(self) -> Collected:
        session = self.session
        if session.budget.left_out:
            left_out, budget = session.budget.left_out, self.limits.requests
            detail = (
                f"{left_out} due requests did not fit into the cycle's budget of "
                f"{budget}; the next cycle sends them."
            )
            session.skip(session.client.address.base, "over_budget", detail)
        error = None if self.has_job_list else self._failure_text()
        if error:
            session.skips.insert(0, Skip(session.client.address.base, "unreachable", error))
        skips = tuple(session.skips)
        observed = [*self.observed, *self._observe_unread()]
        if skips:
            observed.append(Observed(self.source.name, session.at(), "rest", skips))
        return Collected(
            observed=tuple(observed),
            cursor=self.cursor.to_json(),
            skips=skips
            + tuple(
                record
                for part in self.observed
                for record in part.records
                if isinstance(record, Skip)
            ),
            requests=session.client.requests,
            reachable=self.has_job_list,
            refused=not self.has_job_list and session.refused,
            error=error,
            flink_version=self.cursor.flink_version,
            jobs_seen=self.jobs_seen,
            metrics_interval_s=self.sampling_rate.metrics_interval_s,
        )

    def _observe_unread(self) -> tuple[Observed, ...]:
        results = ParseResults()
        for job in self.unread_jobs.values():
            if not self._cursor_of(job).full_at:
                add_job(JobAnswers(job.job_id, overview=job.answer), results)
        return results.observed(self.source.name, "rest")

    def _failure_text(self) -> str:
        session = self.session
        if session.down:
            return session.down
        if self.timed_out:
            return message(
                "{base:name} did not list its jobs within {cycle_timeout_s:number} s.",
                base=session.client.address.base,
                cycle_timeout_s=self.limits.cycle_timeout_s,
            )
        return (
            session.skips[-1].detail
            if session.skips
            else message("{base:name} did not list its jobs.", base=session.client.address.base)
        )

    def _note_version(self, overview: Answer | None) -> None:
        version = member(overview.body, "flink-version") if overview else None
        version = clean_text(version, MAX_VERSION_CHARS) if isinstance(version, str) else None
        if version is None or version == self.cursor.flink_version:
            return
        if self.cursor.flink_version:
            self.cursor.forget_settings()
        self.cursor.flink_version = version
        if not is_known(version):
            detail = (
                f"Flink {version} is not one of the known releases 1.12 to 2.3; Weir "
                "reads what it understands."
            )
            self.session.skip("/overview", "unknown_version", detail)

    async def _make_reader(self, jobs: list[ListedJob]) -> JobReader:
        live = [job for job in jobs if not job.terminal]
        live_cursors = [self.cursor.jobs.get(job.job_id) for job in live]
        vertices = sum(
            len(cursor.vertices) if cursor and cursor.vertices else VERTICES_OF_AN_UNREAD_JOB
            for cursor in live_cursors
        )
        self.sampling_rate = sampling_rate(
            self.source.metrics_interval_s, self.cycle_s, len(live), vertices, self.limits
        )
        now_s = self.session.at().timestamp()
        cursors = [self._cursor_of(job) for job in jobs]
        is_new = any(not cursor.static_at and not cursor.ended for cursor in cursors)
        configuration = None
        if is_new or is_due(now_s, self.cursor.static_at, self.limits.static_refresh_s):
            configuration = await self.session.get("/jobmanager/config")
            self.cursor.static_at = now_s
        return JobReader(
            self.session,
            self.limits,
            self.sampling_rate,
            self.cursor.flink_version,
            jobmanager_config=configuration,
            measured_elsewhere=self.source.prometheus is not None,
        )

    async def _read_jobs(self, reader: JobReader, jobs: list[ListedJob]) -> None:
        due = [job for job in jobs if not self._is_done(job)]
        self.unread_jobs = {job.job_id: job for job in due}
        # A request is reserved for each job's checkpoint list. More requests are for jobs that need
        # attention, then for those that have waited longest.
        self.session.budget.reserve(len(due))
        due.sort(
            key=lambda job: (
                not needs_attention(job, self._cursor_of(job)),
                self._cursor_of(job).metrics_at,
            )
        )
        waiting = iter(due)
        last_start = self.started + NO_NEW_JOB_AFTER * self.limits.cycle_timeout_s

        async def work() -> None:
            for job in waiting:
                if self.session.down:
                    return
                if time.monotonic() > last_start:
                    self.out_of_time = True
                    return
                await self._read_job(reader, job)

        await asyncio.gather(*(work() for _ in range(min(JOBS_AT_ONCE, len(due)))))
        if self.out_of_time:
            self.note_timeout()
        if self.session.down:
            detail = (
                f"{self.session.down} {self.jobs_read} of {self.jobs_seen} jobs were read "
                "in this cycle."
            )
            self.session.skip(self.session.client.address.base, "unreachable", detail)

    async def _read_job(self, reader: JobReader, job: ListedJob) -> None:
        cursor = self._cursor_of(job).copy()
        try:
            reading = await reader.read(job, cursor)
            parts = assembly.observe_job(reading, self.source.name, "rest")
        except Exception as error:
            log.exception("job %s of cluster %s could not be read", job.job_id, self.source.name)
            self.session.skip(
                f"/jobs/{job.job_id}",
                "error",
                f"Reading this job failed with {type(error).__name__}; the others are read.",
            )
            return
        self.observed.extend(parts)
        self.cursor.jobs[job.job_id] = cursor
        del self.unread_jobs[job.job_id]
        self.jobs_read += 1

    def _is_done(self, job: ListedJob) -> bool:
        cursor = self._cursor_of(job)
        return job.terminal and cursor.ended and cursor.modified_ms == job.modified_ms

    def _cursor_of(self, job: ListedJob) -> JobCursor:
        return self.cursor.jobs.setdefault(job.job_id, JobCursor())
