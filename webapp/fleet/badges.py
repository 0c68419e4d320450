"""How states of jobs and clusters look."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q

from webapp.fleet.choices import UNKNOWN_STATUS, HealthState, Visibility
from webapp.lib.badges import UNKNOWN, Badge

if TYPE_CHECKING:
    from webapp.fleet.models import JobCurrent

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
    UNKNOWN_STATUS: UNKNOWN,
}

VISIBILITY_BADGES: dict[str, Badge] = {
    Visibility.LIVE: Badge("seen", "●", "ok"),
    Visibility.BLIND: Badge("not seen", "▲", "crit"),
    Visibility.RECORDING: Badge("recording", "■", "done"),
    Visibility.NEW: Badge("not asked yet", "○", "unknown"),
    Visibility.PAUSED: Badge("paused", "■", "unknown"),
}


@dataclass(frozen=True)
class StatusGroup:
    """One figure above the fleet table, and the filter behind it."""

    slug: str
    title: str
    badge: Badge
    states: tuple[str, ...]
    meaning: str


STATUS_GROUPS: dict[str, StatusGroup] = {
    group.slug: group
    for group in (
        StatusGroup("failed", "Failed", JOB_BADGES["FAILED"], ("FAILED",), "ended by a failure"),
        StatusGroup(
            "unsteady", "Unsteady", JOB_BADGES["RESTARTING"], ("RESTARTING", "FAILING", "SUSPENDED"), "restarting, failing or suspended"
        ),
        StatusGroup("unknown", "Unknown", UNKNOWN, (UNKNOWN_STATUS,), "not seen now"),
        StatusGroup("running", "Running", JOB_BADGES["RUNNING"], ("RUNNING", "INITIALIZING", "CREATED", "RECONCILING"), "or starting"),
        StatusGroup("finished", "Finished", JOB_BADGES["FINISHED"], ("FINISHED", "CANCELED", "CANCELLING"), "or canceled"),
    )
}


def job_badge(status: str | None) -> Badge:
    """States that a later Flink may invent are shown by their own word."""
    if not status:
        return UNKNOWN
    return JOB_BADGES.get(status) or Badge(status.lower()[:24], "?", "unknown")


HEALTHY_FROM, POOR_BELOW = 90, 60
"""Nobody is woken for what takes off less than ten points; below sixty more than one thing is wrong, or one badly."""


@dataclass(frozen=True)
class HealthGroup:
    """A band of health, and the filter behind it."""

    slug: str
    title: str
    badge: Badge
    condition: Q


HEALTH_GROUPS: dict[str, HealthGroup] = {
    group.slug: group
    for group in (
        HealthGroup("poor", "below 60", Badge("poor", "▲", "crit"), Q(health__lt=POOR_BELOW)),
        HealthGroup("fair", "60 to 89", Badge("fair", "◆", "warn"), Q(health__gte=POOR_BELOW, health__lt=HEALTHY_FROM)),
        HealthGroup("unknown", "unknown", UNKNOWN, Q(health=None) & ~Q(health_state="ended")),
        HealthGroup("good", "90 and more", Badge("good", "●", "ok"), Q(health__gte=HEALTHY_FROM)),
    )
}


def health_badge(health: int | None, state: str | None) -> Badge:
    """The number as a badge; unknown is its own look, never green. An ended job has no health any more."""
    if state == HealthState.ENDED:
        return Badge("ended", "■", "done")
    if health is None or state != HealthState.JUDGED:
        return UNKNOWN
    if health >= HEALTHY_FROM:
        return Badge(str(health), "●", "ok")
    return Badge(str(health), "▲", "crit") if health < POOR_BELOW else Badge(str(health), "◆", "warn")


def health_badge_of(job: "JobCurrent") -> Badge:
    """Of a job with its ``status``: whose state nobody can know now, its health neither, whatever it was when last judged."""
    return UNKNOWN if job.status == UNKNOWN_STATUS else health_badge(job.health, job.health_state)
