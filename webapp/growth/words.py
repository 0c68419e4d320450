"""Growth in words: rates, days until a limit, and what is not known and why."""

from django.utils.translation import gettext, ngettext

from webapp.growth.trends import LEAST_DAYS, LEAST_SHARE, Until
from webapp.lib.quantities import UNKNOWN
from webapp.lib.translations import gettext_lazy as _

EMPTY = {
    "title": _("No day has been aggregated yet"),
    "text": _(
        "Days are aggregated every 15 minutes. Files count once their root is registered on "
        "the storage page and audited."
    ),
}


def needed_days(window: int) -> int:
    return max(LEAST_DAYS, round(LEAST_SHARE * window))


def until_text(until: Until) -> str:
    """``in 40 days (30 to 55)``; what is not said is not known, or not within ten years."""
    if until.days == 0:
        return gettext("already reached")
    if until.days is None:
        return (
            gettext("in %(soonest)s at the soonest") % {"soonest": _days(until.soonest)}
            if until.soonest is not None
            else gettext("not at this slope")
        )
    latest = gettext("later than ten years") if until.latest is None else f"{until.latest:,.0f}"
    return gettext("in %(days)s (%(soonest)s to %(latest)s)") % {
        "days": _days(until.days),
        "soonest": f"{until.soonest or 0:,.0f}",
        "latest": latest,
    }


def _days(days: float | None) -> str:
    return (
        UNKNOWN
        if days is None
        else gettext("less than a day")
        if days < 1
        else ngettext("%(days)s day", "%(days)s days", round(days)) % {"days": f"{days:,.0f}"}
    )
