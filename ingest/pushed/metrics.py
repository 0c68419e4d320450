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
UNSEEN_AFTER_S = 120
FORGOTTEN_AFTER_S = 24 * 3600


def read_new(run: ClusterRun) -> SourceRead | None:
    source_read = read_pushed(run.cluster, run.cursor_of(SOURCE), run.shard.at())
    return None if source_read.reachable is None else source_read


def read_pushed(source: ClusterSource, cursor: Mapping[str, Any], at: datetime) -> SourceRead:
    """After a long time without samples the cluster is not seen. Jobs and TaskManagers are reported
    where the cluster has no REST address.
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
    by_id = {job.job_id: (moment, job) for moment, job in rows.jobs(series)}
    for moment, record in _records(series, by_id, is_alone=not source.url):
        records_by_instant[moment].append(record)
    last = max((int(sample[0]) for single in series for sample in single.samples), default=None)
    seen = last if last is not None else _whole(cursor.get("seen_s"), newest)
    if newest - seen > FORGOTTEN_AFTER_S:
        spool.discard()
        return SourceRead((), {})
    jobs = len(by_id) if last is not None else _whole(cursor.get("jobs"), 0)
    is_seen = seen > newest - max(UNSEEN_AFTER_S, 3 * step_s)
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
        observed, {"until_s": newest, "seen_s": seen, "jobs": jobs}, (), is_seen, error, jobs
    )


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _records(
    series: list[Series], jobs: Mapping[str, tuple[datetime, Job]], is_alone: bool
) -> Iterator[tuple[datetime, Record]]:
    by_job: dict[str, list[Series]] = defaultdict(list)
    for single in series:
        by_job[single.labels.get("job_id", "")].append(single)
    for job_id, own_series in by_job.items():
        subtasks = rows.Subtasks(own_series)
        yield from subtasks.rows(job_id, placed=is_alone)
        yield from gauge_rows(job_id, own_series)
        if is_alone and job_id in jobs:
            moment, job = jobs[job_id]
            yield moment, rows.with_vertices(job, subtasks)
    if is_alone:
        yield from rows.taskmanagers(series)
