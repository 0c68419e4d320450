"""Metrics of Flink jobs as Prometheus text: ``/metrics/jobs``. Labels: ``cluster``, ``job_name``
(as in Flink's reporter, since ``job`` is Prometheus's own label), ``team`` (that label of the
cluster, or ""), and ``rule`` and ``severity`` of findings. Series continue when a job gets a new
id. If jobs of one name run at the same time, the beginning of their first id is appended. Jobs
whose state is unknown only have ``weir_job_seen``. At most ``WEIR_METRICS_MOST_JOBS`` jobs have
samples, the worst first.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Q

from webapp.findings.models import Finding
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, HealthState
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.models.job import HEAVY, OVER
from webapp.growth.models import ObjectiveRecord
from webapp.pressure.models import PressureWindow
from webapp.site.exposition import Sample, metric_text

TEAM = "team"
LAG_WITHIN = timedelta(minutes=5)
"""Older windows do not show how far a source is behind now."""
Job = Any  # a JobCurrent with its status
JobKey = tuple[str, str]


def _recovery_point_age_s(job: Job, now: datetime) -> float | None:
    """Age of the recovery point: without a checkpoint, the time since the job started. None if the
    job has no checkpoints configured.
    """
    if job.checkpoint_interval_ms is None:
        return None
    newest = job.last_completed_at or job.start_time
    return max((now - newest).total_seconds(), 0.0) if newest else None


FIGURES: tuple[tuple[str, str, Callable[[Job, datetime], float | None]], ...] = (
    (
        "weir_job_health",
        "Health from 0 to 100; missing where it is unknown.",
        lambda job, now: None if job.health_state == HealthState.UNKNOWN else job.health,
    ),
    (
        "weir_job_recovery_point_age_seconds",
        "Time since the newest completed checkpoint was triggered, else since the start.",
        _recovery_point_age_s,
    ),
    (
        "weir_job_checkpoint_duration_seconds",
        "Duration of the newest completed checkpoint.",
        lambda job, now: None if job.last_completed_ms is None else job.last_completed_ms / 1000,
    ),
    (
        "weir_job_state_bytes",
        "Full size of the newest completed checkpoint.",
        lambda job, now: job.state_bytes,
    ),
    (
        "weir_job_uploaded_bytes",
        "Bytes that the newest completed checkpoint uploaded.",
        lambda job, now: job.checkpointed_bytes,
    ),
    (
        "weir_job_orphan_bytes",
        "Bytes of proven orphans in its directories, by the newest audits.",
        lambda job, now: job.orphan_bytes,
    ),
    (
        "weir_job_restarts",
        "Restarts of its newest attempt, as Flink counts them.",
        lambda job, now: job.restarts,
    ),
    (
        "weir_job_pressured_ratio",
        "Largest share of subtasks of a vertex that are back-pressured, from 0 to 1.",
        lambda job, now: job.pressured_share,
    ),
)


def render(now: datetime) -> str:
    """Metrics of the jobs that the viewer may see."""
    return "".join(metric_text(name, meaning, samples) for name, meaning, samples in _metrics(now))


def _metrics(now: datetime) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    limit = settings.WEIR.metrics_most_jobs
    running = JobCurrent.objects.newest_attempts().exclude(OVER)
    with_status = running.with_status(now).defer(*HEAVY).worst_first("cluster", "id")
    jobs = list(with_status[:limit])
    teams = _teams()
    labels = _labels(jobs, teams)
    yield (
        "weir_job_seen",
        "1 for a job that can be seen now, 0 for one of which nothing is known now.",
        [(labels[_key(job)], float(_is_seen(job))) for job in jobs],
    )
    seen = [job for job in jobs if _is_seen(job)]
    for name, meaning, figure in FIGURES:
        figures = ((labels[_key(job)], figure(job, now)) for job in seen)
        samples = [(job_labels, float(value)) for job_labels, value in figures if value is not None]
        yield name, meaning, samples
    pending, behind_s = _source_lags({(job.cluster, job.job_id): _key(job) for job in seen}, now)
    yield (
        "weir_job_source_pending_records",
        "Records that its sources have yet to read, of the connectors that report them.",
        [(labels[key], records) for key, records in pending.items()],
    )
    yield (
        "weir_job_source_lag_seconds",
        "Largest lag of event time behind the clock where a source emits; missing if unreported.",
        [(labels[key], seconds) for key, seconds in behind_s.items()],
    )
    yield (
        "weir_job_findings",
        "Open findings, by rule and severity; of a cluster where job_name is empty.",
        list(_findings(labels, teams, limit)),
    )
    records = [
        (labels[cluster, first_id] | {"objective": name}, burn, left)
        for cluster, first_id, name, burn, left in ObjectiveRecord.objects.values_list(
            "cluster", "first_attempt_id", "objective__name", "burn", "budget_left"
        )
        if (cluster, first_id) in labels
    ]
    yield (
        "weir_job_objective_burn_ratio",
        "Burn rate over the rate that alerts, the largest of all windows: 1 and more alerts.",
        [(objective, burn) for objective, burn, _left in records if burn is not None],
    )
    yield (
        "weir_job_objective_budget_left_ratio",
        "Share of the error budget of 30 days that is left; negative where it is overdrawn.",
        [(objective, left) for objective, _burn, left in records if left is not None],
    )
    yield (
        "weir_job_metrics_left_out",
        "Running jobs without samples (WEIR_METRICS_MOST_JOBS).",
        [({}, max(running.count() - len(jobs), 0) if len(jobs) == limit else 0)],
    )


def _is_seen(job: Job) -> bool:
    return job.status not in (UNKNOWN_STATUS, UNWATCHED_STATUS)


def _key(job: Job) -> JobKey:
    return job.cluster, job.first_attempt_id or job.job_id


def _source_lags(
    jobs: dict[JobKey, JobKey], now: datetime
) -> tuple[dict[JobKey, float], dict[JobKey, float]]:
    """Pending records and lag in seconds by job, from the newest window of each source. ``jobs``:
    attempt → job.
    """
    reported = PressureWindow.objects.filter(
        Q(pending_records__isnull=False) | Q(emit_lag_ms__isnull=False),
        cluster__in={cluster for cluster, _job_id in jobs},
        window_start__gt=now - LAG_WITHIN,
        window_start__lte=now,
    ).order_by("window_start")
    newest = {
        (cluster, job_id, vertex_id): (records, lag_ms)
        for cluster, job_id, vertex_id, records, lag_ms in reported.values_list(
            "cluster", "job_id", "vertex_id", "pending_records", "emit_lag_ms"
        ).iterator()
    }
    pending: dict[JobKey, float] = {}
    behind_s: dict[JobKey, float] = {}
    for (cluster, job_id, _vertex_id), (records, lag_ms) in newest.items():
        key = jobs.get((cluster, job_id))
        if key is None:
            continue
        if records is not None:
            pending[key] = pending.get(key, 0.0) + records
        if lag_ms is not None:
            behind_s[key] = max(behind_s.get(key, lag_ms / 1000), lag_ms / 1000)
    return pending, behind_s


def _teams() -> dict[str, str]:
    labels = Cluster.objects.exclude(labels={}).values_list("name", "labels")
    return {name: str(of_cluster.get(TEAM, "")) for name, of_cluster in labels}


def _labels(jobs: list[Job], teams: dict[str, str]) -> dict[JobKey, dict[str, str]]:
    counts = Counter((job.cluster, job.name or job.job_id) for job in jobs)
    labels = {}
    for job in jobs:
        name = job.name or job.job_id
        if counts[job.cluster, name] > 1:
            name = f"{name} ({_key(job)[1][:8]})"
        team = teams.get(job.cluster, "")
        labels[_key(job)] = {"cluster": job.cluster, "job_name": name, TEAM: team}
    return labels


def _findings(
    labels: dict[JobKey, dict[str, str]], teams: dict[str, str], limit: int
) -> Iterator[Sample]:
    """Findings of these jobs, and of at most ``most`` groups of clusters and ended jobs."""
    grouped = (
        Finding.objects.open()
        .order_by()
        .values_list("cluster", "first_attempt_id", "job_name", "rule", "severity", "severity_rank")
        .annotate(findings=Count("id"))
        .order_by("-severity_rank", "cluster", "first_attempt_id", "rule")
    )
    other_groups = 0
    counts: defaultdict[tuple[str, str, str, str, str], int] = defaultdict(int)
    for cluster, first_id, name, rule, severity, _rank, count in grouped.iterator():
        job = labels.get((cluster, first_id))
        if job is None:
            other_groups += 1
            if other_groups > limit:
                continue
            job = {"cluster": cluster, "job_name": name or first_id, TEAM: teams.get(cluster, "")}
        counts[job["cluster"], job["job_name"], job[TEAM], rule, severity] += count
    for (cluster, name, team, rule, severity), count in counts.items():
        yield (
            {
                "cluster": cluster,
                "job_name": name,
                TEAM: team,
                "rule": rule,
                "severity": severity,
            },
            count,
        )
