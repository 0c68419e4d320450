"""The context of every page: the current time, the theme, and the time range."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from webapp.lib import timeranges
from webapp.lib.page_words import page_words

THEMES = ("light", "dark")


def page(request: HttpRequest) -> dict[str, Any]:
    """A view that works with another range overrides ``time_range``."""
    now = timezone.now()
    time_range = timeranges.range_of(request, now)
    return {
        "now": now,
        "page_words": page_words(),
        "theme": theme_of(request),
        "time_range": time_range,
        "range_presets": timeranges.PRESETS,
        "shows_range": timeranges.is_used(request),
        "range_query": time_range.query if time_range.chosen else "",
    }


def theme_of(request: HttpRequest) -> str:
    """Empty for the browser's preference."""
    theme = request.COOKIES.get("weir_theme", "")
    return theme if theme in THEMES else ""
