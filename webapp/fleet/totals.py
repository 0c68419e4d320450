from datetime import datetime
from urllib.parse import quote

from django.core.cache import cache
from django.db.models import Count, Q

from webapp.fleet.badges import HEALTH_GROUPS, health_band
from webapp.fleet.models import JobCurrent

CACHED_FOR_S = 10
"""Counting a fleet costs more than showing a page of it."""


FAILED = "failed"


def totals(cluster: str, now: datetime) -> dict[str, int]:
    """Number of jobs by health group, of ``failed`` jobs (part of "ended"), and of all (``total``).
    ``cluster``: "" for all.
    """
    return cache.get_or_set(
        f"fleet-totals:{quote(cluster)}", lambda: _count(cluster, now), CACHED_FOR_S
    ) or _count(cluster, now)


def _count(cluster: str, now: datetime) -> dict[str, int]:
    jobs = JobCurrent.objects.newest_attempts()
    if cluster:
        jobs = jobs.filter(cluster=cluster)
    is_failed = Q(state="FAILED")
    counts, failed = dict.fromkeys(HEALTH_GROUPS, 0), 0
    rows = jobs.with_status(now).order_by().values_list(health_band(), is_failed)
    for slug, has_failed, number in rows.annotate(jobs=Count("*")):
        counts[slug] += number
        if slug == "ended" and has_failed:
            failed = number
    return {**counts, FAILED: failed, "total": sum(counts.values())}
