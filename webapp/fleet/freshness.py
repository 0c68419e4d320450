from datetime import datetime, timedelta

from django.conf import settings

MISSED_CYCLES = 3
MISSED_CYCLES_UNTIL_UNREACHABLE = 3
REFUSED_EVERY_S = 7
"""Without a listening process a JobManager is gone or restarting, so each collection counts. A
restarting container listens within some twenty seconds.
"""
LEAST_CYCLE_S = 30
"""Shorter intervals are judged as this long."""


def between_judgements() -> timedelta:
    """Longest time between two judgements: a poll and a cycle."""
    return timedelta(
        seconds=settings.WEIR.judged_every_s + max(settings.WEIR.spark_interval_s, LEAST_CYCLE_S)
    )


def allowed() -> timedelta:
    return MISSED_CYCLES * between_judgements()


def late_before(now: datetime) -> datetime:
    return now - allowed()


def silence_allowed() -> timedelta:
    """After this long a cluster's last state is no longer current."""
    return timedelta(seconds=MISSED_CYCLES_UNTIL_UNREACHABLE * settings.WEIR.judged_every_s)
