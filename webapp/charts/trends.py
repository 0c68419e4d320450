from collections.abc import Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from webapp.charts.strips import draw_paths, drawing
from webapp.lib.quantities import bytes_text

SLICES = 24
_STEP_PX, _BAR_PX, _HEIGHT_PX = 3, 2, 14


def health_trend(slices: Sequence[tuple[int | None, str]] | None) -> SafeString | str:
    """``slices``: (health 0 … 100 or None, tone), oldest first. Empty if no slice was judged."""
    judged = [(health, tone) for health, tone in slices or () if health is not None]
    if not judged:
        return ""
    paths: dict[str, list[str]] = {}
    for position, (health, tone) in enumerate(slices or ()):
        height = 1 if health is None else 2 + (_HEIGHT_PX - 2) * health // 100
        bar = f"M{position * _STEP_PX} {_HEIGHT_PX - height}h{_BAR_PX}v{height}h-{_BAR_PX}z"
        paths.setdefault("unknown" if health is None else tone, []).append(bar)
    newest = (slices or ())[-1][0]
    words = gettext("health over the time: lowest %(lowest)s, now %(newest)s") % {
        "lowest": min(health for health, _tone in judged),
        "newest": "?" if newest is None else newest,
    }
    return drawing("trend", SLICES * _STEP_PX, _HEIGHT_PX, words, draw_paths(paths))


def bytes_trend(points: Sequence[tuple[float, int]] | None) -> SafeString | str:
    """``points``: (position in the range 0 … 1, bytes), oldest first; empty for fewer than two."""
    if not points or len(points) < 2:
        return ""
    width, most = SLICES * _STEP_PX, max(max(size for _, size in points), 1)
    corners = " ".join(
        f"{position * (width - 2) + 1:.1f},{1 + (_HEIGHT_PX - 2) * (1 - size / most):.1f}"
        for position, size in points
    )
    words = gettext("from %(first)s to %(last)s, %(most)s at most") % {
        "first": bytes_text(points[0][1]),
        "last": bytes_text(points[-1][1]),
        "most": bytes_text(most),
    }
    line = format_html(
        '<polyline points="{}" fill="none" stroke="var(--accent)" stroke-width="1.5"/>', corners
    )
    return drawing("trend", width, _HEIGHT_PX, words, line)
