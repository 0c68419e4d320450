from datetime import datetime
from urllib.parse import quote

from django.core.cache import cache
from django.db.models import Case, Count, Q, Value, When

from webapp.fleet.badges import HEALTH_GROUPS
from webapp.fleet.models import JobCurrent

CACHED_FOR_S = 10
"""Counting a fleet costs more than showing a page of it."""


FAILED = "failed"


def health_band() -> Case:
    return Case(
        *(When(group.condition, then=Value(slug)) for slug, group in HEALTH_GROUPS.items()),
        default=Value("unknown"),
    )


def totals(cluster: str, now: datetime) -> dict[str, int]:
    """Number of jobs by health group, of ``failed`` jobs (part of "ended"), and of all (``total``).
    ``cluster``: "" for all.
    """
    return cache.get_or_set(
        f"fleet-totals:{quote(cluster)}", lambda: _count(cluster, now), CACHED_FOR_S
    ) or _count(cluster, now)


def _count(cluster: str, now: datetime) -> dict[str, int]:
    ended = HEALTH_GROUPS["ended"].condition
    band = Case(When(Q(state="FAILED") & ended, then=Value(FAILED)), default=health_band())
    jobs = JobCurrent.objects.newest_attempts()
    if cluster:
        jobs = jobs.filter(cluster=cluster)
    by_band: dict[str, int] = dict(
        jobs.with_status(now).order_by().values_list(band).annotate(jobs=Count("*"))
    )
    failed = by_band.get(FAILED, 0)
    counts = {slug: by_band.get(slug, 0) for slug in HEALTH_GROUPS}
    counts["ended"] += failed
    return {**counts, FAILED: failed, "total": sum(by_band.values())}
