"""How long rows are kept, as the environment says. The lake has its own retention.

The lowest values that may be set are what pages, reports and proofs of clean-ups look back to.
"""

from datetime import timedelta

from django.conf import settings


def routine() -> timedelta:
    """Facts of checkpoints, pressure and log events of which nobody asks later."""
    return timedelta(days=settings.WEIR.keep_routine_days)


def runs() -> timedelta:
    """What Weir itself did."""
    return timedelta(days=settings.WEIR.keep_runs_days)


def notable() -> timedelta:
    """What failed, was slow or was found."""
    return timedelta(days=settings.WEIR.keep_notable_days)


def sums() -> timedelta:
    """Sums by the day."""
    return timedelta(days=settings.WEIR.keep_sums_days)


def audit() -> timedelta:
    """Who did what."""
    return timedelta(days=settings.WEIR.keep_audit_days)
