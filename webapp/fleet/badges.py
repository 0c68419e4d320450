from dataclasses import dataclass

from django.db.models import Case, Q, Value, When
from django.utils.functional import Promise
from django.utils.text import format_lazy

from ingest.job_states import NOT_LISTED
from webapp.fleet.choices import (
    UNKNOWN_STATUS,
    UNWATCHED_STATUS,
    HealthState,
    LogStoreState,
    Visibility,
)
from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.translations import gettext_lazy as _

UNWATCHED = Badge("no longer watched", "■", "unknown")

JOB_BADGES: dict[str, Badge] = {
    "FAILED": Badge("failed", "▲", "crit"),
    "FAILING": Badge("failing", "◆", "warn"),
    "RESTARTING": Badge("restarting", "◆", "warn"),
    "SUSPENDED": Badge("suspended", "◆", "warn"),
    "INITIALIZING": Badge("starting", "○", "done"),
    "CREATED": Badge("starting", "○", "done"),
    "RECONCILING": Badge("starting", "○", "done"),
    "RUNNING": Badge("running", "●", "ok"),
    "CANCELLING": Badge("cancelling", "■", "done"),
    "CANCELED": Badge("canceled", "■", "done"),
    "FINISHED": Badge("finished", "■", "done"),
    NOT_LISTED: Badge("not listed", "◆", "warn"),
    UNKNOWN_STATUS: UNKNOWN,
    UNWATCHED_STATUS: UNWATCHED,
}

VISIBILITY_BADGES: dict[str, Badge] = {
    Visibility.LIVE: Badge("seen", "●", "ok"),
    Visibility.UNREACHABLE: Badge("not seen", "▲", "crit"),
    Visibility.RECORDING: Badge("recording", "■", "done"),
    Visibility.NEW: Badge("not asked yet", "○", "unknown"),
    Visibility.PAUSED: Badge("paused", "■", "unknown"),
    Visibility.LEFT: Badge("left its source", "■", "unknown"),
    Visibility.BROKEN: Badge("not running", "▲", "crit"),
    Visibility.SUSPENDED: Badge("suspended", "■", "unknown"),
}

LOG_STORE_BADGES: dict[str, Badge] = {
    LogStoreState.READ: Badge("read", "●", "ok"),
    LogStoreState.NEW: Badge("not read yet", "○", "unknown"),
    LogStoreState.BEHIND: Badge("behind", "◆", "warn"),
    LogStoreState.FAILING: Badge("cannot be read", "▲", "crit"),
}


def job_badge(status: str | None) -> Badge:
    if not status:
        return UNKNOWN
    return JOB_BADGES.get(status) or Badge(status.lower()[:24], "?", "unknown")


HEALTHY_FROM, POOR_BELOW = 90, 60
"""Below 60: several problems, or a serious one."""


@dataclass(frozen=True)
class HealthGroup:
    """``condition`` filters jobs annotated with ``status``. ``points``: its part for those whose
    health counts.
    """

    slug: str
    title: str
    badge: Badge
    condition: Q
    meaning: str | Promise
    points: Q | None = None


def _of_points(slug: str, title: str, badge: Badge, points: Q, meaning: Promise) -> HealthGroup:
    # Points first, since a status costs more than the comparison of a number.
    return HealthGroup(slug, title, badge, points & _SEEN, meaning, points)


_SEEN = ~Q(status__in=(UNKNOWN_STATUS, UNWATCHED_STATUS))
_OVER = Q(health=None, health_state=HealthState.ENDED) | Q(status=UNWATCHED_STATUS)

HEALTH_GROUPS: dict[str, HealthGroup] = {
    group.slug: group
    for group in (
        _of_points(
            "poor",
            _("Critical"),
            Badge("poor", "▲", "crit"),
            Q(health__lt=POOR_BELOW),
            format_lazy(_("health below {points}"), points=POOR_BELOW),
        ),
        _of_points(
            "fair",
            _("Warning"),
            Badge("fair", "◆", "warn"),
            Q(health__gte=POOR_BELOW, health__lt=HEALTHY_FROM),
            format_lazy(_("health {least} to {most}"), least=POOR_BELOW, most=HEALTHY_FROM - 1),
        ),
        HealthGroup(
            "unknown",
            _("Unknown"),
            UNKNOWN,
            Q(status=UNKNOWN_STATUS)
            | (Q(health=None) & ~Q(health_state=HealthState.ENDED) & ~Q(status=UNWATCHED_STATUS)),
            _("not seen or not judged"),
        ),
        _of_points(
            "good",
            _("Healthy"),
            Badge("good", "●", "ok"),
            Q(health__gte=HEALTHY_FROM),
            format_lazy(_("health {points} and more"), points=HEALTHY_FROM),
        ),
        HealthGroup(
            "ended",
            _("Ended"),
            Badge("ended", "■", "done"),
            _OVER,
            _("finished, canceled, failed, not listed or no longer watched"),
        ),
    )
}


def health_band() -> Case:
    """The slug of the group of a job annotated with ``status``. Each status is compared once."""
    points = {slug: group.points for slug, group in HEALTH_GROUPS.items() if group.points}
    return Case(
        When(status=UNKNOWN_STATUS, then=Value("unknown")),
        When(HEALTH_GROUPS["ended"].condition, then=Value("ended")),
        *(When(condition, then=Value(slug)) for slug, condition in points.items()),
        default=Value("unknown"),
    )


def health_badge(health: int | None, state: str | None) -> Badge:
    if state == HealthState.ENDED:
        return Badge("ended", "■", "done")
    if health is None or state != HealthState.JUDGED:
        return UNKNOWN
    if health >= HEALTHY_FROM:
        return Badge(str(health), "●", "ok")
    return (
        Badge(str(health), "▲", "crit") if health < POOR_BELOW else Badge(str(health), "◆", "warn")
    )
