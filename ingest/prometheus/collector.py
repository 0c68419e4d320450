from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from ingest.cluster_run import ClusterRun
from ingest.errors import IngestError
from ingest.flink_rest.client import RestClient
from ingest.prometheus import rows
from ingest.prometheus.gauges import gauge_rows, gauges_query
from ingest.prometheus.names import JOB_NAMES, TASK_NAMES, TASKMANAGER_NAMES, selector
from ingest.prometheus.rows import Series, series
from ingest.records import Job, Observed, Record, Skip
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource, PrometheusSource, Tls

TENANT_HEADERS = ("X-Scope-OrgID", "THANOS-TENANT")
"""Headers of Mimir and Cortex, and the default of Thanos."""


def prometheus_client(
    run: ClusterRun, prometheus: PrometheusSource
) -> AbstractAsyncContextManager[RestClient]:
    client = RestClient(
        prometheus.url,
        auth=prometheus.auth,
        tls=Tls(prometheus.ca_file),
        request_timeout_s=run.cluster.request_timeout_s,
        gate=run.shard.gates.of(prometheus.url),
        headers=dict.fromkeys(TENANT_HEADERS, prometheus.tenant) if prometheus.tenant else None,
        # Some compatible stores return labels that are not UTF-8; these affect no other series.
        lenient=True,
    )
    return run.count_requests(client)


SOURCE = "prometheus"
MAX_STEPS = 40
MAX_JOBS = 5_000
FORGOTTEN_AFTER_S = 3600


@dataclass(frozen=True, slots=True)
class _Span:
    start_s: int
    end_s: int
    step_s: int


async def query_range(
    client: RestClient, query: str, start_s: int, end_s: int, step_s: int
) -> Iterator[Series]:
    parameters = urlencode({"query": query, "start": start_s, "end": end_s, "step": step_s})
    return series(await client.get(f"/api/v1/query_range?{parameters}"))


async def read_metrics(
    client: RestClient, source: ClusterSource, cursor: Mapping[str, Any], at: Callable[[], datetime]
) -> SourceRead:
    """Jobs and TaskManagers are included if the cluster has no REST address."""
    span = _due_span(cursor, at().timestamp(), max(1, round(source.metrics_interval_s)))
    if span is None:
        return SourceRead((), dict(cursor))
    prometheus = source.prometheus or PrometheusSource("")
    reading = _Reading(client, prometheus, source.name, span, not source.url)
    try:
        await reading.run()
    except IngestError as error:
        subject = client.address.base
        return SourceRead(
            (), dict(cursor), (Skip(subject, error.reason, str(error)),), False, str(error)
        )
    return SourceRead(
        reading.observed,
        {"until_s": span.end_s},
        tuple(reading.skips),
        reachable=True,
        jobs_seen=len(reading.jobs),
    )


def _due_span(cursor: Mapping[str, Any], now_s: float, step_s: int) -> _Span | None:
    newest = (int(now_s) // step_s - 1) * step_s
    until = cursor.get("until_s")
    read_to = (
        until
        if isinstance(until, int) and newest - FORGOTTEN_AFTER_S <= until <= newest + step_s
        else newest - step_s
    )
    first = (read_to // step_s + 1) * step_s
    last = min(newest, first + (MAX_STEPS - 1) * step_s)
    return _Span(first, last, step_s) if first <= last else None


@dataclass
class _Reading:
    _client: RestClient
    _source: PrometheusSource
    _cluster: str
    _span: _Span
    _is_alone: bool
    skips: list[Skip] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    _records: dict[datetime, list[Record]] = field(default_factory=lambda: defaultdict(list))

    async def run(self) -> None:
        """Raises if the list of jobs cannot be read. An unreadable job becomes a skip."""
        jobs = list(rows.jobs(await self._series(JOB_NAMES)))
        newest = {job.job_id: (at, job) for at, job in jobs}
        self.jobs = list(newest)[:MAX_JOBS]
        if len(newest) > MAX_JOBS:
            self.skips.append(
                Skip(
                    self._client.address.base,
                    "over_budget",
                    f"{len(newest):,} jobs found, and at most {MAX_JOBS:,} are read.",
                )
            )
        for job_id in self.jobs:
            await self._read_job(*newest[job_id])
        if self._is_alone:
            self._add(rows.taskmanagers(await self._series(TASKMANAGER_NAMES)))

    async def _read_job(self, at: datetime, job: Job) -> None:
        try:
            subtasks = rows.Subtasks(await self._series(TASK_NAMES, job.job_id))
        except IngestError as error:
            self._skip_job(job, error)
            return
        if self._is_alone:
            self._add([(at, rows.with_vertices(job, subtasks))])
        self._add(subtasks.rows(job.job_id, with_placement=self._is_alone))
        try:
            self._add(
                gauge_rows(
                    job.job_id, await self._query(gauges_query(self._source.selector, job.job_id))
                )
            )
        except IngestError as error:
            self._skip_job(job, error)

    def _skip_job(self, job: Job, error: IngestError) -> None:
        self.skips.append(Skip(f"job {job.job_id}", error.reason, str(error)))

    def _add(self, records: Iterable[tuple[datetime, Record]]) -> None:
        for at, record in records:
            self._records[at].append(record)

    @property
    def observed(self) -> tuple[Observed, ...]:
        return tuple(
            Observed(self._cluster, at, SOURCE, tuple(records))
            for at, records in sorted(self._records.items())
        )

    async def _series(self, names: Mapping[str, Any], job_id: str = "") -> list[Series]:
        return await self._query(selector(names, self._source.selector, job_id))

    async def _query(self, query: str) -> list[Series]:
        span = self._span
        return list(await query_range(self._client, query, span.start_s, span.end_s, span.step_s))


async def read_prometheus(run: ClusterRun) -> SourceRead | None:
    if (prometheus := run.cluster.prometheus) is None:
        return None
    async with prometheus_client(run, prometheus) as client:
        metrics = await read_metrics(client, run.cluster, run.cursor_of(SOURCE), run.shard.at)
    return replace(metrics, reachable=metrics.reachable is not False)
