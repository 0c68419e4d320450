"""How far what pages show may lie behind the clock before it is called late, and no longer shown as
the present.
"""

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
    """What passes at most between two judgements of a job: an answer of its cluster, and a cycle."""
    return timedelta(
        seconds=settings.WEIR.judged_every_s + max(settings.WEIR.spark_interval_s, LEAST_CYCLE_S)
    )


def allowed() -> timedelta:
    """Three times what passes at most between two judgements of a job."""
    return MISSED_CYCLES * between_judgements()


def late_before(now: datetime) -> datetime:
    return now - allowed()


def silence_allowed() -> timedelta:
    """How long a cluster may go without an answer before what is known of it is no longer shown as
    its state.
    """
    return timedelta(seconds=MISSED_CYCLES_UNTIL_UNREACHABLE * settings.WEIR.judged_every_s)
