"""Sums up the growth of jobs from daily roll-ups, so that pages only read rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.attempts import MOST_SHOWN, READ, began_at, over_at
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobCurrent
from webapp.growth.models import JobGrowth
from webapp.growth.trends import WINDOWS, Days, figures, filled, total
from webapp.lib.chunks import chunks
from webapp.work.lease import WriteGuard
from webapp.work.runs import RunRecord

ROWS_AT_ONCE = 2_000
KEY = ("cluster", "job_id", "window_days")
FIGURES = [
    field.name for field in JobGrowth._meta.concrete_fields if field.name not in (*KEY, "id")
]
ROLLUP = (
    "job_id",
    "period_start",
    "state_bytes_last",
    "checkpointed_bytes_sum",
    "end_to_end_p95_ms",
)


def sum_up(lease: WriteGuard, record: RunRecord) -> None:
    now = timezone.now()
    recordings = set(
        Cluster.objects.filter(kind=ClusterKind.RECORDING).values_list("name", flat=True)
    )
    names = list(
        JobCurrent.objects.order_by("cluster").values_list("cluster", flat=True).distinct()
    )
    record.counts["jobs"] = sum(
        sum_cluster(name, now, lease, is_recording=name in recordings) for name in names
    )
    record.counts["clusters"] = len(names)


def sum_cluster(
    cluster: str, now: datetime, lease: WriteGuard, *, is_recording: bool = False
) -> int:
    days = _days_by_id(cluster, now, is_recording=is_recording)
    newest = now.astimezone(UTC).toordinal()
    if is_recording:
        newest = max((max(job_days.state, default=0) for job_days in days.values()), default=0)
    jobs = JobCurrent.objects.filter(cluster=cluster).only(*READ, "as_of", "checkpoint_timeout_ms")
    rows: list[JobGrowth] = []
    by_job: dict[str, list[JobCurrent]] = defaultdict(list)
    for job in jobs:
        by_job[job.first_attempt_id].append(job)
    for attempts in by_job.values():
        attempts.sort(key=lambda job: (began_at(job) or job.as_of, job.pk))
        newest_first = attempts[: -MOST_SHOWN - 1 : -1]
        job_days = _join(
            [days.pop(job.job_id) for job in reversed(newest_first) if job.job_id in days],
            _last_day(newest_first[0], newest),
        )
        if job_days is not None:
            rows += _rows(cluster, newest_first, job_days, newest, now)
    for chunk in chunks(rows, ROWS_AT_ONCE):
        with lease.writing():
            JobGrowth.objects.bulk_create(
                chunk,
                batch_size=500,
                update_conflicts=True,
                update_fields=FIGURES,
                unique_fields=KEY,
            )
    with lease.writing():
        JobGrowth.objects.filter(cluster=cluster, as_of__lt=now).delete()
    return len(rows) // len(WINDOWS)


def _days_by_id(cluster: str, now: datetime, *, is_recording: bool) -> dict[str, Days]:
    since = datetime(1970, 1, 1, tzinfo=UTC) if is_recording else now - timedelta(days=max(WINDOWS))
    days_by_id: dict[str, Days] = defaultdict(Days)
    rollups = CheckpointRollup.objects.filter(
        period="day", cluster=cluster, period_start__gte=since
    )
    for job_id, start, state, uploaded, duration in rollups.values_list(*ROLLUP).iterator(
        ROWS_AT_ONCE
    ):
        day, of_job = start.astimezone(UTC).toordinal(), days_by_id[job_id]
        for values, value in (
            (of_job.state, state),
            (of_job.uploaded, uploaded),
            (of_job.duration_ms, duration),
        ):
            if value is not None:
                values[day] = value
    return dict(days_by_id)


def _join(attempts: Sequence[Days], last: int) -> Days | None:
    """The days of a job from those of its attempts, the oldest first: on a day of several attempts,
    the size is that of the last, and uploads are added. None without attempts.
    """
    if not attempts:
        return None
    state: dict[int, float] = {}
    duration: dict[int, float] = {}
    for attempt in attempts:
        state |= attempt.state
        duration |= attempt.duration_ms
    return Days(
        filled(state, last),
        total([attempt.uploaded for attempt in attempts]),
        duration,
    )


def _last_day(job: JobCurrent, newest: int) -> int:
    ended_at = over_at(job)
    return min(newest, ended_at.astimezone(UTC).toordinal()) if ended_at else 0


def _rows(
    cluster: str, newest_first: Sequence[JobCurrent], days: Days, newest: int, now: datetime
) -> Iterable[JobGrowth]:
    job = newest_first[0]
    for window in WINDOWS:
        growth = figures(days, window, newest, job.checkpoint_timeout_ms, ended=job.is_over)
        yield JobGrowth(
            cluster=cluster,
            job_id=job.job_id,
            name=job.name,
            attempts=[attempt.job_id for attempt in newest_first],
            ended=job.is_over,
            window_days=window,
            timeout_ms=job.checkpoint_timeout_ms,
            as_of=now,
            **growth,
        )
