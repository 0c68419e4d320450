"""Throughput of each vertex by the hour, summed up from its windows, which are not kept for months.
Repeating an hour gives the same rows. A run sums up each hour with new windows, and again the last
minutes before the previous run: the cycle updates the newest windows while samples arrive.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Avg, Count, F, Max, Sum
from django.db.models.functions import TruncHour
from django.utils import timezone

from webapp.lib.chunks import chunks
from webapp.pressure.models import PressureWindow, VertexHour
from webapp.work.lease import WriteGuard
from webapp.work.models import RolledUp
from webapp.work.runs import RunRecord

LOOK_BACK = timedelta(minutes=10)
"""Vertices are sampled at different instants: windows this far before the newest are current."""

_MOST_ROWS = 5_000


def newest_windows(
    cluster: str, job_id: str, start: datetime, end: datetime
) -> dict[str, PressureWindow]:
    """Vertex id → its newest window within the range; empty if none was measured."""
    windows = PressureWindow.objects.filter(
        cluster=cluster, job_id=job_id, window_start__gte=start, window_start__lte=end
    )
    last = windows.order_by("-window_start").values_list("window_start", flat=True).first()
    if last is None:
        return {}
    recent = windows.filter(window_start__gte=last - LOOK_BACK).order_by("-window_start")[
        :_MOST_ROWS
    ]
    newest: dict[str, PressureWindow] = {}
    for window in recent:
        newest.setdefault(window.vertex_id, window)
    return newest


TABLE = "pressure_window"
"""The row of ``RolledUp`` for this table has the primary key of the last window that was summed up.
"""
SETTLES_WITHIN = timedelta(minutes=15)
"""For this long after its minute, a window may still change."""
ROWS_AT_ONCE = 2_000

_KEY = ("cluster", "job_id", "vertex_id", "period_start")
_FIGURES = tuple(
    field.name for field in VertexHour._meta.concrete_fields if field.name not in (*_KEY, "id")
)


def sum_up(lease: WriteGuard, record: RunRecord) -> None:
    rolled_up = RolledUp.objects.filter(table=TABLE).first()
    newest = PressureWindow.objects.aggregate(newest=Max("id"))["newest"] or 0
    hours = _touched_hours(rolled_up, newest)
    record.counts |= {"hours": len(hours), "rows": sum(_sum_hour(hour, lease) for hour in hours)}
    with lease.writing():
        progress = {"to_seq": newest, "loaded_at": timezone.now()}
        RolledUp.objects.update_or_create(table=TABLE, defaults=progress)


def _touched_hours(rolled_up: RolledUp | None, newest: int) -> list[datetime]:
    last_id = rolled_up.to_seq if rolled_up else 0
    hours = set(_hours(PressureWindow.objects.filter(id__gt=last_id, id__lte=newest)))
    if rolled_up:
        since = rolled_up.loaded_at - SETTLES_WITHIN
        hours |= set(_hours(PressureWindow.objects.filter(window_start__gte=since)))
    return sorted(hours)


def _hours(windows: Any) -> Any:
    hour = TruncHour("window_start", tzinfo=timezone.get_fixed_timezone(0))
    return windows.order_by().annotate(hour=hour).values_list("hour", flat=True).distinct()


def _sum_hour(hour: datetime, lease: WriteGuard) -> int:
    of_hour = PressureWindow.objects.filter(
        window_start__gte=hour, window_start__lt=hour + timedelta(hours=1)
    )
    sums = (
        of_hour.order_by()
        .values("cluster", "job_id", "vertex_id")
        .annotate(
            name=Max("vertex_name"),
            windows=Count("id"),
            read=Sum(F("records_in_per_s") * F("window_s")),
            emitted=Sum(F("records_out_per_s") * F("window_s")),
            read_per_s=Avg("records_in_per_s"),
            read_per_s_max=Max("records_in_per_s"),
            emitted_per_s=Avg("records_out_per_s"),
            emitted_per_s_max=Max("records_out_per_s"),
            pending=Max("pending_records"),
            lag_ms=Max("emit_lag_ms"),
            newest=Max("as_of"),
        )
    )
    rows = (
        VertexHour(
            cluster=row["cluster"],
            job_id=row["job_id"],
            vertex_id=row["vertex_id"],
            period_start=hour,
            vertex_name=row["name"],
            windows=row["windows"],
            records_in=row["read"],
            records_out=row["emitted"],
            records_in_per_s=row["read_per_s"],
            records_in_per_s_max=row["read_per_s_max"],
            records_out_per_s=row["emitted_per_s"],
            records_out_per_s_max=row["emitted_per_s_max"],
            pending_records_max=row["pending"],
            emit_lag_ms_max=row["lag_ms"],
            as_of=row["newest"],
        )
        for row in sums.iterator(ROWS_AT_ONCE)
    )
    row_count = 0
    for part in chunks(rows, ROWS_AT_ONCE):
        with lease.writing():
            VertexHour.objects.bulk_create(
                part,
                batch_size=500,
                update_conflicts=True,
                update_fields=_FIGURES,
                unique_fields=_KEY,
            )
        row_count += len(part)
    return row_count
