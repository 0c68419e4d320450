"""What a comparison says, in words; a difference is never told from few values."""

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
        return "not known in one of the windows"
    if found.state == TOO_FEW:
        return f"too few to compare: {found.before.count} before, {found.after.count} after, {LEAST} of each are needed"
    if found.state == SAME:
        return "no difference beyond its usual scatter"
    by = f" by {change_text(found.after.median, found.before.median).lstrip('+−')}" if found.change is not None else ""
    share = found.above if found.state == HIGHER else 1 - (found.above or 0)
    return f"{found.state}{by}: so in {percent_text(share)} of pairs"


def verdict(found: JobChange) -> str:
    """One sentence: what differs most, or that nothing does."""
    if found.windows is None:
        return "Nothing can be compared."
    differs = [one for one in (*found.measures, *found.pressure) if one.comparison.state in (HIGHER, LOWER)]
    few = [one for one in found.measures if one.comparison.state == TOO_FEW]
    if not differs:
        if few or not found.measures:
            return "Too few checkpoints completed in these windows for a comparison."
        return "Nothing differs beyond its usual scatter."
    largest = sorted(differs, key=lambda one: -abs(one.comparison.change or 0))[:3]
    return f"{len(differs)} of {len(found.measures) + len(found.pressure)} measures differ: {'; '.join(map(_named, largest))}."


def _named(one: Measure) -> str:
    where = f" of {one.vertex[:60]}" if one.vertex else ""
    by = f" {change_text(one.comparison.after.median, one.comparison.before.median)}" if one.comparison.change is not None else ""
    return f"{one.name}{where} {one.comparison.state}{by}"
