"""How old data may be before pages call it late instead of current."""

from datetime import datetime, timedelta

from django.conf import settings

MISSED_CYCLES = 3
MISSED_CYCLES_UNTIL_UNREACHABLE = 3
REFUSED_EVERY_S = 7
"""Where no process listens at its port, a JobManager is gone or begins anew: that is no time-out of
a busy one, so that each collection counts. One that its container runtime starts again listens
within some twenty seconds.
"""
LEAST_CYCLE_S = 30
"""What runs more often than this, as cycles do, is late only when something that ran this often
would be.
"""


def between_judgements() -> timedelta:
    """Longest time between two judgements of a job: a poll of its cluster plus a cycle."""
    return timedelta(
        seconds=settings.WEIR.judged_every_s + max(settings.WEIR.spark_interval_s, LEAST_CYCLE_S)
    )


def allowed() -> timedelta:
    """Three times the longest time between two judgements of a job."""
    return MISSED_CYCLES * between_judgements()


def late_before(now: datetime) -> datetime:
    return now - allowed()


def silence_allowed() -> timedelta:
    """How long a cluster may be silent before its last known state is no longer shown as current."""
    return timedelta(seconds=MISSED_CYCLES_UNTIL_UNREACHABLE * settings.WEIR.judged_every_s)
