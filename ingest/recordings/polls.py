from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ingest.errors import Skipped
from ingest.flink_rest.answers import Answer, ClusterAnswers, JobAnswers
from ingest.flink_rest.assembly import observe_cluster, observe_job
from ingest.flink_rest.job_reader import ListedJob, listed_jobs
from ingest.flink_rest.payloads.config import flink_version
from ingest.flink_rest.routing import Filed, file_cluster_answer, file_job_answer, job_of
from ingest.json_members import member
from ingest.records import Observed

MOST_BYTES = 256 * 1024 * 1024
MOST_ANSWERS = 50_000


@dataclass(slots=True)
class AnswerCache:
    _answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _held_bytes: int = 0

    def find(self, kind: str, job_id: str) -> Answer | None:
        return self._answers.get((kind, job_id))

    def keep(self, kind: str, job_id: str, answer: Answer) -> None:
        previous = self._answers.pop((kind, job_id), None)
        self._held_bytes += answer.held_bytes - (previous.held_bytes if previous else 0)
        self._answers[kind, job_id] = answer
        while self._held_bytes > MOST_BYTES or len(self._answers) > MOST_ANSWERS:
            oldest = next(iter(self._answers))
            self._held_bytes -= self._answers.pop(oldest).held_bytes


LONGEST_POLL = timedelta(seconds=60)
LARGEST_POLL_BYTES = 64 * 1024 * 1024
LARGEST_POLL_HELD_BYTES = 512 * 1024 * 1024
MAX_JOBS_REMEMBERED = 100_000
MOST_READINGS = 200

_LIST_ENDPOINTS = ("/overview", "/jobs/overview", "/taskmanagers")


@dataclass(slots=True)
class Poll:
    """A job has several readings if a path was requested twice."""

    started_at: datetime
    size_bytes: int = 0
    held_bytes: int = 0
    is_full: bool = False
    opened_by: set[str] = field(default_factory=set)
    overviews: list[Answer] = field(default_factory=list)
    jobs: dict[str, list[JobAnswers]] = field(default_factory=dict)
    cluster: list[ClusterAnswers] = field(default_factory=list)

    def file(self, answer: Answer) -> None:
        job_id = job_of(answer.path)
        if answer.endpoint == "/jobs/overview":
            self.overviews.append(answer)
        elif job_id:
            readings = self.jobs.setdefault(job_id, [])
            if all(file_job_answer(reading, answer) is Filed.REPEATED for reading in readings):
                readings.append(JobAnswers(job_id))
                file_job_answer(readings[-1], answer)
                self.is_full |= len(readings) >= MOST_READINGS
        elif all(
            file_cluster_answer(reading, answer) is Filed.REPEATED for reading in self.cluster
        ):
            self.cluster.append(ClusterAnswers())
            file_cluster_answer(self.cluster[-1], answer)
            self.is_full |= len(self.cluster) >= MOST_READINGS


class Polls:
    """A poll ends when a list is requested again, or when it is too large."""

    def __init__(self, cluster: str, version: str | None = None) -> None:
        self._cluster = cluster
        self.flink_version = version
        self._jobmanager_config: Answer | None = None
        self._ended: dict[str, str] = {}
        self._cache = AnswerCache()
        self._poll: Poll | None = None
        self.jobs_seen: set[str] = set()

    def add(self, answer: Answer, size_bytes: int) -> tuple[Observed, ...]:
        finished: tuple[Observed, ...] = ()
        if self._poll and self._begins_poll(answer, self._poll):
            finished = self.finish()
        poll = self._poll = self._poll or Poll(answer.at)
        poll.size_bytes += size_bytes
        poll.held_bytes += answer.held_bytes
        if answer.endpoint in _LIST_ENDPOINTS:
            poll.opened_by.add(answer.endpoint)
        if answer.endpoint in ("/config", "/overview"):
            self._learn_version(answer)
        elif answer.endpoint == "/jobmanager/config":
            self._jobmanager_config = answer
        else:
            poll.file(answer)
        return finished

    def finish(self) -> tuple[Observed, ...]:
        poll, self._poll = self._poll, None
        return tuple(self._observe(poll)) if poll else ()

    def _begins_poll(self, answer: Answer, poll: Poll) -> bool:
        return (
            answer.endpoint in poll.opened_by
            or answer.at - poll.started_at > LONGEST_POLL
            or poll.size_bytes > LARGEST_POLL_BYTES
            or poll.is_full
            or poll.held_bytes + answer.held_bytes > LARGEST_POLL_HELD_BYTES
        )  # fmt: skip

    def _learn_version(self, answer: Answer) -> None:
        try:
            self.flink_version = flink_version(answer.body) or self.flink_version
        except Skipped:
            return  # the version so far stays

    def _observe(self, poll: Poll) -> Iterator[Observed]:
        for overview in poll.overviews:
            jobs, skips = listed_jobs(overview)
            if skips:
                yield Observed(self._cluster, overview.at, "rest", skips)
            for job in jobs:
                self._file_overview(poll, job)
        for job_id, readings in poll.jobs.items():
            if len(self.jobs_seen) < MAX_JOBS_REMEMBERED:
                self.jobs_seen.add(job_id)
            for reading in readings:
                self._complete(reading)
                yield from observe_job(reading, self._cluster, "rest")
        for cluster_reading in poll.cluster:
            yield from observe_cluster(cluster_reading, self._cluster)

    def _file_overview(self, poll: Poll, job: ListedJob) -> None:
        readings = poll.jobs.setdefault(job.job_id, [])
        is_reported = self._ended.get(job.job_id) == job.state
        if job.terminal and len(self._ended) < MAX_JOBS_REMEMBERED:
            self._ended[job.job_id] = job.state
        without_overview = [reading for reading in readings if reading.overview is None]
        job_reading = next((reading for reading in without_overview if reading.job), None)
        if job_reading:
            job_reading.overview = job.answer
        elif not is_reported and without_overview:
            without_overview[0].overview = job.answer
        elif not is_reported:
            readings.append(JobAnswers(job.job_id, overview=job.answer))

    def _complete(self, reading: JobAnswers) -> None:
        cache, job_id = self._cache, reading.job_id
        reading.flink_version = self.flink_version
        reading.jobmanager_config = self._jobmanager_config
        if reading.job and isinstance(member(reading.job.body, "plan"), dict):
            cache.keep("plan", job_id, reading.job)
        for kind in ("plan", "config", "checkpoint_config"):
            answer = getattr(reading, kind)
            if answer is None:
                setattr(reading, kind, cache.find(kind, job_id))
            else:
                cache.keep(kind, job_id, answer)
