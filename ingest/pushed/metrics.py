from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.prometheus import rows
from ingest.prometheus.gauges import gauge_rows
from ingest.prometheus.rows import Series
from ingest.pushed.metrics_spool import BEHIND_S, MetricsSpool
from ingest.records import Job, Observed, Record
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource

SOURCE = "pushed_metrics"
UNREACHABLE_AFTER_S = 120
FORGOTTEN_AFTER_S = 24 * 3600


def read_new(run: ClusterRun) -> SourceRead | None:
    source_read = read_pushed(run.cluster, run.cursor_of(SOURCE), run.shard.at())
    return None if source_read.reachable is None else source_read


def read_pushed(source: ClusterSource, cursor: Mapping[str, Any], at: datetime) -> SourceRead:
    """Without samples for some time, the cluster is not reachable. Jobs and TaskManagers are
    included if the cluster has no REST address.
    """
    spool = MetricsSpool(Path(source.pushed_metrics))
    step_s = max(1, round(source.metrics_interval_s))
    newest = (int(at.timestamp()) // step_s - 1) * step_s
    until = cursor.get("until_s")
    after = (
        until
        if isinstance(until, int) and newest - BEHIND_S <= until <= newest
        else newest - BEHIND_S
    )
    spool.forget(after)
    records_by_instant: dict[datetime, list[Record]] = defaultdict(list)
    series = spool.read(after, newest, step_s)
    jobs_by_id = {job.job_id: (moment, job) for moment, job in rows.jobs(series)}
    for moment, record in _records(series, jobs_by_id, is_alone=not source.url):
        records_by_instant[moment].append(record)
    last = max(
        (int(sample[0]) for one_series in series for sample in one_series.samples), default=None
    )
    last_sample_s = last if last is not None else _whole(cursor.get("seen_s"), newest)
    if newest - last_sample_s > FORGOTTEN_AFTER_S:
        spool.discard()
        return SourceRead((), {})
    jobs = len(jobs_by_id) if last is not None else _whole(cursor.get("jobs"), 0)
    is_seen = last_sample_s > newest - max(UNREACHABLE_AFTER_S, 3 * step_s)
    error = (
        None
        if is_seen
        else "No samples of metrics were pushed for two minutes; check the reporter and its token."
    )
    observed = tuple(
        Observed(source.name, moment, SOURCE, tuple(records))
        for moment, records in sorted(records_by_instant.items())
    )
    return SourceRead(
        observed,
        {"until_s": newest, "seen_s": last_sample_s, "jobs": jobs},
        (),
        is_seen,
        error,
        jobs,
    )


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _records(
    series: list[Series], jobs: Mapping[str, tuple[datetime, Job]], is_alone: bool
) -> Iterator[tuple[datetime, Record]]:
    by_job: dict[str, list[Series]] = defaultdict(list)
    for one_series in series:
        by_job[one_series.labels.get("job_id", "")].append(one_series)
    for job_id, job_series in by_job.items():
        subtasks = rows.Subtasks(job_series)
        yield from subtasks.rows(job_id, with_placement=is_alone)
        yield from gauge_rows(job_id, job_series)
        if is_alone and job_id in jobs:
            moment, job = jobs[job_id]
            yield moment, rows.with_vertices(job, subtasks)
    if is_alone:
        yield from rows.taskmanagers(series)
