"""Pressure of one job over time: a row a vertex, in plan order."""

from collections import defaultdict
from datetime import datetime

from webapp.fleet.models import JobCurrent
from webapp.pressure.models import PressureWindow
from webapp.reports import texts
from webapp.reports.document import PressureRow
from webapp.reports.gathering.scope import ReportScope

MOST_VERTICES = 12
MOST_SLICES = 96
MOST_WINDOWS = 40_000
_MS_PER_S = 1000

Cell = tuple[float | None, float | None]


def rows(job: JobCurrent, scope: ReportScope) -> tuple[PressureRow, ...]:
    """Of the vertices that were held back or busy most; each cell is the worst window of its slice.

    One query.
    """
    windows = PressureWindow.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        window_start__gte=scope.start,
        window_start__lte=scope.end,
    )
    columns = (
        "vertex_id",
        "vertex_name",
        "window_start",
        "backpressured_ms_per_s_p50",
        "busy_ms_per_s_p50",
    )
    samples = list(windows.order_by("-window_start").values_list(*columns)[:MOST_WINDOWS])
    if not samples:
        return ()
    first, last = samples[-1][2], samples[0][2]
    width = (last - first) / MOST_SLICES
    names: dict[str, str] = {}
    cells: dict[str, dict[datetime, Cell]] = defaultdict(dict)
    for vertex_id, vertex_name, at, held, busy in samples:
        if held is None and busy is None:
            continue  # versions before 1.13 do not measure it
        names.setdefault(vertex_id, texts.name(vertex_name, vertex_id))
        slice_at = (
            first + width * min(int((at - first) / width), MOST_SLICES - 1)
            if width and len(samples) > MOST_SLICES
            else at
        )
        known = cells[vertex_id].get(slice_at, (None, None))
        cells[vertex_id][slice_at] = (
            _worse(known[0], _share(held)),
            _worse(known[1], _share(busy)),
        )
    worst = sorted(
        cells,
        key=lambda vertex_id: (
            -max((max(cell[0] or 0, cell[1] or 0) for cell in cells[vertex_id].values()), default=0)
        ),
    )
    plan = [str(vertex.get("vertex_id")) for vertex in (job.graph or {}).get("vertices") or ()]
    shown = sorted(
        worst[:MOST_VERTICES],
        key=lambda vertex_id: plan.index(vertex_id) if vertex_id in plan else len(plan),
    )
    return tuple(
        PressureRow(names[key], tuple((at, *cells[key][at]) for at in sorted(cells[key])))
        for key in shown
    )


def _share(ms_per_s: float | None) -> float | None:
    return None if ms_per_s is None else round(min(max(ms_per_s / _MS_PER_S, 0.0), 1.0), 4)


def _worse(left: float | None, other: float | None) -> float | None:
    return max((share for share in (left, other) if share is not None), default=None)
