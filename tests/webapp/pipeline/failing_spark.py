"""Spark jobs that end badly."""

from collections.abc import Sequence

from celery.exceptions import SoftTimeLimitExceeded


def run_job(_words: Sequence[str]) -> int:
    raise MemoryError("no memory left")


def run_too_long(_words: Sequence[str]) -> int:
    raise SoftTimeLimitExceeded
