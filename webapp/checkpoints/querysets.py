from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.db.models import Case, Count, F, Q, Value, When
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext

from spark_jobs.serving import FAILED_OUTCOMES, OUTCOMES, PHASES, UNSETTLED_OUTCOMES
from webapp.charts.checkpoints import MOST_DRAWN, CheckpointBar
from webapp.charts.sizes import Link, SizePoint, Sizes
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup
from webapp.checkpoints.worst_in_time import Selection, worst_in_time
from webapp.fleet.models import JobCurrent
from webapp.lib.checkpoint_point import CheckpointPoint
from webapp.lib.instants import epoch_ms

BY_DAY_FROM = timedelta(days=4)
_PERIODS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


def state_trends(
    jobs: Sequence[JobCurrent], start: datetime, end: datetime
) -> dict[tuple[str, str], list[tuple[float, int]]]:
    """By (cluster, job id): (position in the range 0 … 1, bytes), oldest first. One query."""
    period = "day" if end - start >= BY_DAY_FROM else "hour"
    rows = CheckpointRollup.objects.filter(
        cluster__in={job.cluster for job in jobs},
        job_id__in=[job.job_id for job in jobs],
        period=period,
        period_start__gt=start - _PERIODS[period],
        period_start__lte=end,
    ).values_list("cluster", "job_id", "period_start", "state_bytes_last")
    points: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for cluster, job_id, at, size in rows.order_by("period_start"):
        if size is None:
            continue
        position = (at + _PERIODS[period] - start) / (end - start)
        points.setdefault((cluster, job_id), []).append((min(max(position, 0.0), 1.0), size))
    return points


_COLUMN_OF = {
    field.name: f"slowest_{field.name}" if field.name.removesuffix("_ms") in PHASES else field.name
    for field in fields(CheckpointPoint)
    if field.name != "slowest"
}
POINT_COLUMNS = (*_COLUMN_OF.values(), "slowest_vertex_name", "slowest_subtask", "slowest_host")
SIZE_FIELDS = tuple(field.name for field in fields(SizePoint))
WITHOUT_SAVEPOINTS = Q(is_savepoint__isnull=True) | Q(is_savepoint=False)

WORST_FIRST = (
    Case(When(outcome__in=FAILED_OUTCOMES, then=Value(0)), default=Value(1)).asc(),
    Coalesce("end_to_end_ms", Value(0)).desc(),
)
"""Failed checkpoints first, then the longest, so that a quick savepoint hides no slow checkpoint.
"""


def of_job(cluster: str, job_id: str, start: datetime, end: datetime) -> Any:
    return of_attempts(cluster, [job_id], start, end)


def of_attempts(cluster: str, job_ids: Sequence[str], start: datetime, end: datetime) -> Any:
    # With "in", databases may sort rows that the index has in order already.
    of_jobs = {"job_id": job_ids[0]} if len(job_ids) == 1 else {"job_id__in": job_ids}
    return CheckpointFact.objects.filter(
        cluster=cluster, **of_jobs, trigger_time__gte=start, trigger_time__lte=end
    )


def outcome_counts(facts: Any) -> dict[str, int]:
    """Checkpoints by outcome, settled (``total``) and failed (``bad``), and ``savepoints``."""
    settled = WITHOUT_SAVEPOINTS & ~Q(outcome__in=UNSETTLED_OUTCOMES)
    return dict(
        facts.aggregate(
            total=Count("id", filter=settled),
            bad=Count("id", filter=WITHOUT_SAVEPOINTS & Q(outcome__in=FAILED_OUTCOMES)),
            savepoints=Count("id", filter=Q(is_savepoint=True)),
            **{
                outcome: Count("id", filter=WITHOUT_SAVEPOINTS & Q(outcome=outcome))
                for outcome in OUTCOMES
            },
        )
    )


def bars(facts: Any, cluster: str, most: int = MOST_DRAWN) -> tuple[list[CheckpointBar], int]:
    """The worst checkpoint of each slice, oldest first, and the total number. Three queries."""
    (worst,) = worst_in_time(facts, Selection(most, WORST_FIRST, Q()))
    rows = CheckpointFact.objects.filter(pk__in=worst.ids).order_by("trigger_time", "id")
    link = links(cluster)
    return [_bar(row, link) for row in rows.values(*POINT_COLUMNS, "job_id")], worst.total


def sizes(facts: Any) -> Sizes | None:
    """Sizes of completed checkpoints for the chart, None if there are none. Four queries."""
    completed = facts.filter(outcome="completed")
    uploads = Selection(
        MOST_DRAWN, [F("checkpointed_bytes").desc()], Q(checkpointed_bytes__isnull=False)
    )
    full = Selection(
        MOST_DRAWN, [F("state_bytes").desc()], WITHOUT_SAVEPOINTS & Q(state_bytes__isnull=False)
    )
    worst_uploads, worst_line = worst_in_time(completed, uploads, full)
    rows = CheckpointFact.objects.filter(pk__in={*worst_uploads.ids, *worst_line.ids})
    points = {
        row.pop("pk"): SizePoint(**row | {"is_savepoint": bool(row["is_savepoint"])})
        for row in rows.values("pk", *SIZE_FIELDS)
    }
    uploads_only = not worst_line.total and completed.filter(WITHOUT_SAVEPOINTS).exists()
    if not points and not completed.exists():
        return None
    bars, line = (
        [points[pk] for pk in series.ids if pk in points] for series in (worst_uploads, worst_line)
    )
    return Sizes(bars, line, worst_uploads.total, uploads_only)


def point_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a :class:`CheckpointPoint` from ``POINT_COLUMNS``, without its slowest subtask."""
    values = {name: row[column] for name, column in _COLUMN_OF.items()}
    return values | {"is_savepoint": bool(row["is_savepoint"])}


def is_slowest_known(row: Mapping[str, Any]) -> bool:
    """False for lost checkpoints, whose slowest subtask may not have acknowledged."""
    return bool(row["slowest_vertex_name"]) and row["outcome"] in ("completed", "in_progress")


def _bar(row: Mapping[str, Any], link: Link) -> CheckpointBar:
    slowest = None
    if is_slowest_known(row):
        task, host = f"{row['slowest_vertex_name']}/{row['slowest_subtask']}", row["slowest_host"]
        slowest = gettext("%(task)s on %(host)s") % {"task": task, "host": host} if host else task
    return CheckpointBar(
        **point_values(row),
        slowest=slowest,
        url=link(row["job_id"], row["checkpoint_id"], row["trigger_time"]),
    )


def export_rows(facts: Any, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    yield from facts.order_by("-trigger_time", "-id").values(*columns).iterator(chunk_size=1_000)


def links(cluster: str) -> Link:
    """URLs include the trigger: ids repeat if a job with a fixed id is submitted again."""

    # reverse() is most of the cost of a link.
    @cache
    def base(job_id: str) -> str:
        return reverse("job", args=(cluster, job_id))

    return lambda job_id, number, trigger: (
        f"{base(job_id)}checkpoints/{number}/{epoch_ms(trigger)}/"
    )
