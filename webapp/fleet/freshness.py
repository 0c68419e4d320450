from datetime import datetime, timedelta

from django.conf import settings

MISSED_CYCLES = 3
MISSED_CYCLES_UNTIL_UNREACHABLE = 3
REFUSED_EVERY_S = 7
"""Length of a missed cycle if connections are refused, since the JobManager is gone or restarts: a
restarted container listens within about 20 seconds.
"""
LEAST_CYCLE_S = 30
"""Shorter intervals count as this long."""


def between_judgements() -> timedelta:
    """The longest time between judgements of a job: a poll and a cycle."""
    return timedelta(
        seconds=settings.WEIR.judged_every_s + max(settings.WEIR.spark_interval_s, LEAST_CYCLE_S)
    )


def allowed() -> timedelta:
    return MISSED_CYCLES * between_judgements()


def late_before(now: datetime) -> datetime:
    return now - allowed()


def silence_allowed() -> timedelta:
    """How long after its last answer the state of a cluster is still current."""
    return timedelta(seconds=MISSED_CYCLES_UNTIL_UNREACHABLE * settings.WEIR.judged_every_s)
