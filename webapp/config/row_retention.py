"""How long rows are stored: at least what pages, reports and proofs of clean-ups look back. The
lake has its own retention.
"""

from datetime import timedelta

from django.conf import settings


def routine() -> timedelta:
    return timedelta(days=settings.WEIR.keep_routine_days)


def runs() -> timedelta:
    return timedelta(days=settings.WEIR.keep_runs_days)


def notable() -> timedelta:
    return timedelta(days=settings.WEIR.keep_notable_days)


def sums() -> timedelta:
    return timedelta(days=settings.WEIR.keep_sums_days)


def audit() -> timedelta:
    return timedelta(days=settings.WEIR.keep_audit_days)
