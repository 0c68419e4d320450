"""The last checkpoints of a job as a strip: a tall red bar failed, a lower green bar completed, a
diamond is a savepoint. One SVG path per tone, since a fleet page has fifty strips.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from spark_jobs.serving import FAILED_OUTCOMES, OUTCOMES

BARS = 16
_STEP_PX, _BAR_PX, _HEIGHT_PX = 7, 5, 17


def strip(outcomes: Sequence[Mapping[str, Any]] | None) -> SafeString | str:
    """``outcomes``, oldest first: ``{outcome, is_savepoint}``. A dash if no outcome is known."""
    known = [entry for entry in outcomes or () if entry.get("outcome") in OUTCOMES][-BARS:]
    if not known:
        return "–"
    paths: dict[str, list[str]] = {}
    # The newest is at the right edge; a short strip begins further right.
    first = BARS - len(known)
    for position, entry in enumerate(known, start=first):
        tone, path = _mark(entry, position * _STEP_PX)
        paths.setdefault(tone, []).append(path)
    return drawing("strip", BARS * _STEP_PX, _HEIGHT_PX, in_words(known), draw_paths(paths))


def draw_paths(paths: Mapping[str, Sequence[str]]) -> SafeString:
    return format_html_join(
        "",
        '<path d="{}" fill="var(--{})"/>',
        (("".join(of_tone), tone) for tone, of_tone in paths.items()),
    )


def drawing(css: str, width: int, height: int, words: str, shapes: SafeString) -> SafeString:
    return format_html(
        '<svg class="{}" width="{}" height="{}" role="img" aria-label="{}">'
        "<title>{}</title>{}</svg>",
        css,
        width,
        height,
        words,
        words,
        shapes,
    )


def in_words(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """Such as '16 last: 9 expired, 7 completed; newest expired'."""
    counts = Counter(
        "savepoint" if entry.get("is_savepoint") else str(entry["outcome"]).replace("_", " ")
        for entry in outcomes
    )
    parts = ", ".join(f"{count} {gettext(word)}" for word, count in counts.most_common())
    return gettext("%(number)s last: %(parts)s; newest %(outcome)s") % {
        "number": len(outcomes),
        "parts": parts,
        "outcome": gettext(str(outcomes[-1]["outcome"]).replace("_", " ")),
    }


def _mark(entry: Mapping[str, Any], x: int) -> tuple[str, str]:
    if entry["outcome"] in FAILED_OUTCOMES:
        return "crit", _bar(x, 15)
    if entry.get("is_savepoint"):
        return "accent", f"M{x + 2.5} 5l3 4.5-3 4.5-3-4.5z"
    if entry["outcome"] == "completed":
        return "ok", _bar(x, 11)
    return "unknown", _bar(x, 3)


def _bar(x: int, height: int) -> str:
    return f"M{x} {_HEIGHT_PX - 1 - height}h{_BAR_PX}v{height}h-{_BAR_PX}z"
