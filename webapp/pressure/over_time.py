"""Pressure and rates of a job's vertices in slices of time, aggregated by the database."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.db.models import Avg, BigIntegerField, Func, Max

from webapp.charts.pressure import VertexShares
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import instant_of
from webapp.pressure.models import PressureWindow, VertexHour

MOST_SLICES = 180
MOST_VERTICES = 6
MOST_ROWS = 60_000
_SOURCE_COLUMNS = ("pending_records", "emit_lag_ms")
_BACKPRESSURED, _BUSY, _OUT, _IN, _PENDING, _LAG = range(6)
"""Positions of a slice's figures."""
_WINDOW_S, _HOUR_S = 60, 3_600
_MS_PER_S = 1_000


@dataclass(frozen=True)
class OverTime:
    """Figures by slice. ``shares`` of the vertices with most pressure, in plan order; ``vertices``:
    number of measured ones. ``from_sources``, ``into_sinks``: records per second, None if one
    source or sink is unknown. ``pending_records``: unread by sources that report them. ``lag_ms``:
    the largest age of emitted records.
    """

    starts: Sequence[datetime]
    width: timedelta
    shares: Sequence[VertexShares]
    vertices: int
    from_sources: Sequence[float | None]
    into_sinks: Sequence[float | None]
    pending_records: Sequence[float | None]
    lag_ms: Sequence[float | None]


class _EpochSeconds(Func):
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "CAST(strftime('%%%%s', %(expressions)s) AS INTEGER)"
        return self.as_sql(compiler, connection, template=template, **more)

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "FLOOR(EXTRACT(EPOCH FROM %(expressions)s))::bigint"
        return self.as_sql(compiler, connection, template=template, **more)


def _by_slice(rows: Any, start: str, width_s: int, figures: Sequence[Any]) -> Any:
    """(vertex id, slice, vertex name, *figures), newest slices first."""
    return (
        rows.annotate(slice=_EpochSeconds(start) / width_s)
        .values_list("vertex_id", "slice")
        .annotate(Max("vertex_name"), *figures)
        .order_by("-slice")[:MOST_ROWS]
    )


def over_time(
    job: JobCurrent, job_ids: Sequence[str], start: datetime, end: datetime
) -> OverTime | None:
    """``job_ids``: attempts of the job. None if there are no data. One query of windows; one
    of hours if windows may be deleted.
    """
    slice_s = (end - start).total_seconds() / MOST_SLICES
    width_s = max(ceil(slice_s / _WINDOW_S), 1) * _WINDOW_S
    of_jobs = {"cluster": job.cluster, "job_id__in": job_ids}
    windows = PressureWindow.objects.filter(
        **of_jobs, window_start__gt=start - timedelta(seconds=_WINDOW_S), window_start__lte=end
    )
    pressure = (Max("backpressured_ms_per_s_p50"), Max("busy_ms_per_s_p50"))
    rates = (Avg("records_out_per_s"), Avg("records_in_per_s"))
    columns = (*pressure, *rates, *map(Max, _SOURCE_COLUMNS))
    cells: dict[str, dict[int, Any]] = defaultdict(dict)
    names: dict[str, str] = {}
    for vertex_id, number, name, *figures in _by_slice(windows, "window_start", width_s, columns):
        cells[vertex_id][number] = figures
        names.setdefault(vertex_id, name or vertex_id)
    if width_s >= _HOUR_S or not cells:
        width_s = max(width_s, _HOUR_S)
        hours = VertexHour.objects.filter(
            **of_jobs, period_start__gt=start - timedelta(seconds=_HOUR_S), period_start__lte=end
        )
        columns = (*rates, *(Max(f"{name}_max") for name in _SOURCE_COLUMNS))
        for vertex_id, number, name, *figures in _by_slice(hours, "period_start", width_s, columns):
            cells[vertex_id].setdefault(number, [None, None, *figures])
            names.setdefault(vertex_id, name or vertex_id)
    if not cells:
        return None
    numbers = [number for of_vertex in cells.values() for number in of_vertex]
    slices = range(min(numbers), max(numbers) + 1)
    shares = {
        vertex_id: VertexShares(
            names[vertex_id],
            [_share(of_vertex.get(number), _BACKPRESSURED) for number in slices],
            [_share(of_vertex.get(number), _BUSY) for number in slices],
        )
        for vertex_id, of_vertex in cells.items()
    }
    measured = {
        key: row for key, row in shares.items() if {None} != {*row.backpressured, *row.busy}
    }
    worst = sorted(measured, key=lambda key: -_pressure(measured[key]))[:MOST_VERTICES]
    targets = {edge.get("target") for edge in job.edges}
    origins = {edge.get("source") for edge in job.edges}
    vertices = job.vertices
    sources = [key for key in vertices if key not in targets]
    sinks = [key for key in vertices if key not in origins]
    plan = [*vertices, *worst]
    return OverTime(
        [instant_of(number * width_s * 1_000) for number in slices],
        timedelta(seconds=width_s),
        [measured[key] for key in sorted(worst, key=plan.index)],
        len(measured),
        [_sum_if_all_known(cells, sources, number, _OUT) for number in slices],
        [_sum_if_all_known(cells, sinks, number, _IN) for number in slices],
        [_of_known(cells, number, _PENDING, sum) for number in slices],
        [_of_known(cells, number, _LAG, max) for number in slices],
    )


def _pressure(row: VertexShares) -> float:
    return sum(
        max(backpressured or 0.0, busy or 0.0)
        for backpressured, busy in zip(row.backpressured, row.busy, strict=True)
    )


def _share(figures: Sequence[float | None] | None, position: int) -> float | None:
    value = figures[position] if figures else None
    return None if value is None else round(min(max(value / _MS_PER_S, 0.0), 1.0), 3)


def _sum_if_all_known(
    cells: Mapping[str, Mapping[int, Any]], vertices: Sequence[Any], number: int, position: int
) -> float | None:
    values: list[Any] = [
        cells[key][number][position] if number in cells.get(key, ()) else None for key in vertices
    ]
    return round(sum(values), 1) if values and None not in values else None


def _of_known(
    cells: Mapping[str, Mapping[int, Any]],
    number: int,
    position: int,
    merge: Callable[[list[float]], float],
) -> float | None:
    figures = [of_vertex[number][position] for of_vertex in cells.values() if number in of_vertex]
    values = [value for value in figures if value is not None]
    return merge(values) if values else None
