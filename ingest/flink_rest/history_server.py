import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ingest.due import still_waits, waiting
from ingest.flink_rest import assembly
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.cursor import JobCursor
from ingest.flink_rest.job_reader import JobReader, ListedJob, listed_jobs
from ingest.flink_rest.limits import Budget, RequestLimits, SamplingRate
from ingest.flink_rest.session import RestSession
from ingest.json_members import as_object
from ingest.records import Observed, Skip
from ingest.source_read import SourceRead

INTERVAL_S = 60

JOBS_PER_CYCLE = 25
SECONDS_A_JOB, SECONDS_A_CYCLE = 20.0, 40.0
MAX_REMEMBERED_JOBS = 20_000
LIMITS = RequestLimits()
NO_SAMPLING = SamplingRate(0, lean=False)


async def read_history(
    client: RestClient, cluster: str, cursor: Mapping[str, Any], at: Callable[[], datetime]
) -> SourceRead:
    """Reads jobs that are not in the cursor yet, those that ended last first."""
    read_ends, now = _read_ends(cursor), at()
    if still_waits(cursor, now):
        return SourceRead((), dict(cursor))
    session = RestSession(client, at, Budget(LIMITS.requests))
    overview = await session.get("/jobs/overview")
    if overview is None:
        return SourceRead(
            (),
            dict(cursor),
            tuple(session.skips),
            reachable=False,
            error=session.down or session.skips[-1].detail,
        )
    jobs, skips = listed_jobs(overview)
    session.skips.extend(skips)
    new_jobs = sorted(
        (job for job in jobs if job.terminal and read_ends.get(job.job_id) != job.end_ms),
        key=lambda job: job.end_ms,
        reverse=True,
    )
    observed: list[Observed] = []
    began = time.monotonic()
    for job in new_jobs[:JOBS_PER_CYCLE]:
        left_s = began + SECONDS_A_CYCLE - time.monotonic()
        try:
            async with asyncio.timeout(min(SECONDS_A_JOB, left_s)):
                job_rows = await _read_job(client, job, cluster, session.skips, now)
        except TimeoutError:
            if left_s < SECONDS_A_JOB:
                break
            detail = (
                f"Its documents were not delivered within {SECONDS_A_JOB:g} s; Weir does "
                "not request it again until it changes."
            )
            session.skip(f"/jobs/{job.job_id}", "timeout", detail)
            job_rows = []
        if job_rows is None:
            break
        observed += job_rows
        read_ends[job.job_id] = job.end_ms
    present = {job.job_id for job in jobs}
    present_ends = [(job_id, end) for job_id, end in read_ends.items() if job_id in present]
    newest = dict(sorted(present_ends, key=lambda item: item[1])[-MAX_REMEMBERED_JOBS:])
    is_behind = any(read_ends.get(job.job_id) != job.end_ms for job in new_jobs)
    return SourceRead(
        tuple(observed),
        {"jobs": newest, **waiting(now, 0 if is_behind else INTERVAL_S)},
        tuple(session.skips),
        reachable=True,
        jobs_seen=len(jobs),
    )


async def _read_job(
    client: RestClient, job: ListedJob, cluster: str, skips: list[Skip], now: datetime
) -> list[Observed] | None:
    ended_at = datetime.fromtimestamp(job.end_ms / 1000, UTC) if 0 < job.end_ms < 4e12 else now
    session = RestSession(client, lambda: ended_at, Budget(LIMITS.requests_per_job + 10))
    reader = JobReader(session, LIMITS, NO_SAMPLING, flink_version=None)
    reading = await reader.read(job, JobCursor())
    skips += session.skips
    if session.down:
        return None
    if reading.overview is not None:
        reading.overview = replace(reading.overview, at=ended_at)
    return list(assembly.observe_job(reading, cluster, "history"))


def _read_ends(cursor: Mapping[str, Any]) -> dict[str, int]:
    jobs = as_object(cursor.get("jobs"))
    return {job_id: end for job_id, end in jobs.items() if isinstance(end, int)}
