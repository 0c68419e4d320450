"""Growth in words: rates, days until a limit, and what is not known and why."""

from datetime import datetime, timedelta

from webapp.growth.trends import LEAST_DAYS, LEAST_SHARE, Until
from webapp.lib.quantities import UNKNOWN

EMPTY = {
    "title": "No day is summed up yet",
    "text": "Days come from the daily roll-ups of checkpoints and from storage audits, and are summed up every quarter of an hour.",
}


def needed_days(window: int) -> int:
    return max(LEAST_DAYS, round(LEAST_SHARE * window))


def until_text(until: Until) -> str:
    """``in 40 days (30 to 55)``; what is not said is not known, or not within ten years."""
    if until.days == 0:
        return "reached"
    if until.days is None:
        return f"in {_days(until.soonest)} at the soonest" if until.soonest is not None else "not at this slope"
    latest = "later than ten years" if until.latest is None else f"{until.latest:,.0f}"
    return f"in {_days(until.days)} ({until.soonest or 0:,.0f} to {latest})"


def until_date(until: Until, at: datetime) -> str:
    return f"{at + timedelta(days=until.days):%Y-%m-%d}" if until.days else ""


def _days(days: float | None) -> str:
    return UNKNOWN if days is None else "less than a day" if days < 1 else f"{days:,.0f} day{'' if round(days) == 1 else 's'}"
