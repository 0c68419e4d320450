"""What a comparison says, in words; a difference is never told from few values."""

from django.utils.translation import gettext

from webapp.before_after.job_change import JobChange, Measure
from webapp.before_after.samples import HIGHER, LEAST, LOWER, SAME, TOO_FEW, UNKNOWN, Comparison
from webapp.lib.quantities import bytes_text, change_text, duration_text, percent_text, usage_text

TONES = {HIGHER: ("warn", "▲"), LOWER: ("ok", "▼"), SAME: ("done", "="), TOO_FEW: ("unknown", "?"), UNKNOWN: ("unknown", "?")}
"""More of anything that is compared (time, bytes, pressure) is more load, whatever the reason."""


def figure(value: float | None, unit: str) -> str:
    if unit == "bytes":
        return bytes_text(value)
    if unit == "ms":
        return duration_text(value)
    if unit == "ms/s":
        return percent_text(None if value is None else value / 1000)
    return usage_text(value) if unit == "ratio" else bytes_text(value) if unit else "–" if value is None else f"{value:,.0f}"


def sentence(found: Comparison) -> str:
    if found.state == UNKNOWN:
        return gettext("not known in one of the windows")
    if found.state == TOO_FEW:
        return gettext("too few to compare: %(before)s before, %(after)s after, %(least)s of each are needed") % {
            "before": found.before.count,
            "after": found.after.count,
            "least": LEAST,
        }
    if found.state == SAME:
        return gettext("no difference beyond its usual scatter")
    share = percent_text(found.above if found.state == HIGHER else 1 - (found.above or 0))
    if found.change is None:
        form = gettext("higher: so in %(share)s of pairs") if found.state == HIGHER else gettext("lower: so in %(share)s of pairs")
        return form % {"share": share}
    change = change_text(found.after.median, found.before.median).lstrip("+−")
    form = (
        gettext("higher by %(change)s: so in %(share)s of pairs")
        if found.state == HIGHER
        else gettext("lower by %(change)s: so in %(share)s of pairs")
    )
    return form % {"change": change, "share": share}


def verdict(found: JobChange) -> str:
    """One sentence: what differs most, or that nothing does."""
    if found.windows is None:
        return gettext("Nothing can be compared.")
    differs = [one for one in (*found.measures, *found.pressure) if one.comparison.state in (HIGHER, LOWER)]
    few = [one for one in found.measures if one.comparison.state == TOO_FEW]
    if not differs:
        if few or not found.measures:
            return gettext("Too few checkpoints completed in these windows for a comparison.")
        return gettext("Nothing differs beyond its usual scatter.")
    largest = sorted(differs, key=lambda one: -abs(one.comparison.change or 0))[:3]
    return gettext("%(differ)s of %(measures)s measures differ: %(largest)s.") % {
        "differ": len(differs),
        "measures": len(found.measures) + len(found.pressure),
        "largest": gettext("; ").join(map(_named, largest)),
    }


def _named(one: Measure) -> str:
    name = (
        gettext("%(measure)s of %(vertex)s") % {"measure": gettext(one.name), "vertex": one.vertex[:60]}
        if one.vertex
        else gettext(one.name)
    )
    by = f" {change_text(one.comparison.after.median, one.comparison.before.median)}" if one.comparison.change is not None else ""
    return f"{name} {gettext(one.comparison.state)}{by}"
