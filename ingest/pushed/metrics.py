from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.prometheus import rows
from ingest.prometheus.gauges import gauge_rows, parse_gauge_name
from ingest.prometheus.names import JOB_NAMES, TASK_NAMES, TASKMANAGER_NAMES
from ingest.prometheus.rows import Series
from ingest.pushed.metrics_spool import BEHIND_S, MetricsSpool
from ingest.records import Observed, Record
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource

SOURCE = "pushed_metrics"
UNSEEN_AFTER_S = 120
FORGOTTEN_AFTER_S = 24 * 3600


def read_new(run: ClusterRun) -> SourceRead | None:
    source_read = read_pushed(run.cluster, run.part(SOURCE), run.shard.at())
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
    jobs = _take(records_by_instant, series, is_alone=not source.url)
    last = max((int(sample[0]) for single in series for sample in single.samples), default=None)
    seen = last if last is not None else _whole(cursor.get("seen_s"), newest)
    if newest - seen > FORGOTTEN_AFTER_S:
        spool.discard()
        return SourceRead((), {})
    jobs = jobs if last is not None else _whole(cursor.get("jobs"), 0)
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


def _take(
    records_by_instant: dict[datetime, list[Record]], series: list[Series], is_alone: bool
) -> int:
    of_tasks: dict[str, list[Series]] = defaultdict(list)
    of_gauges: dict[str, list[Series]] = defaultdict(list)
    for single_series in series:
        if single_series.labels["__name__"] in TASK_NAMES:
            of_tasks[single_series.labels.get("job_id", "")].append(single_series)
        elif parse_gauge_name(single_series.labels["__name__"]):
            of_gauges[single_series.labels.get("job_id", "")].append(single_series)
    subtasks = {job_id: rows.Subtasks(of_job) for job_id, of_job in of_tasks.items()}
    jobs = {
        job.job_id: (moment, job)
        for moment, job in rows.jobs(
            single for single in series if single.labels["__name__"] in JOB_NAMES
        )
    }
    for job_id, of_job in subtasks.items():
        for moment, sample in of_job.rows(job_id, placed=is_alone):
            records_by_instant[moment].append(sample)
    for job_id, gauges in of_gauges.items():
        for moment, figures in gauge_rows(job_id, gauges):
            records_by_instant[moment].append(figures)
    if is_alone:
        for job_id, (moment, job) in jobs.items():
            records_by_instant[moment].append(
                rows.with_vertices(job, subtasks.get(job_id) or rows.Subtasks(()))
            )
        for moment, manager in rows.taskmanagers(
            single for single in series if single.labels["__name__"] in TASKMANAGER_NAMES
        ):
            records_by_instant[moment].append(manager)
    return len(jobs)
