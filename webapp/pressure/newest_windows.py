"""The newest pressure of each vertex, for the job graph and its table."""

from datetime import datetime, timedelta

from webapp.pressure.models import PressureWindow

LOOK_BACK = timedelta(minutes=10)
"""Vertices are not sampled at one instant; what is older than this beside the newest window is not
'now'.
"""

_MOST_ROWS = 5_000


def newest_windows(
    cluster: str, job_id: str, start: datetime, end: datetime
) -> dict[str, PressureWindow]:
    """Vertex id → its newest window within the range; empty where none was measured."""
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
