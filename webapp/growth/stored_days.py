"""What audits found of jobs is kept for days; what it came to by the end of each day, for as long
as other sums of days.
"""

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta

from webapp.growth.models import StoredDay
from webapp.lib.instants import begin_of_day
from webapp.storage.models import JobStorage
from webapp.storage.newest_audits import loaded_figures


def take_up(cluster: str, now: datetime) -> list[StoredDay]:
    """Rows of the days since the newest that is known, this day again: each job over all its roots,
    as their newest audits had it.
    """
    known = (
        StoredDay.objects.filter(cluster=cluster)
        .order_by("-day")
        .values_list("day", flat=True)
        .first()
    )
    since = begin_of_day(known) - timedelta(days=1) if known else datetime(1970, 1, 1, tzinfo=UTC)
    audits = loaded_figures().filter(as_of__gte=since).values("audit_id")
    rows = JobStorage.objects.filter(cluster=cluster, audit__in=audits).order_by("audit__as_of")
    days: dict[tuple[str, date], StoredDay] = {}
    roots: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    names = ("job_id", "root", "audit__as_of", "bytes", "orphan_bytes", "recent_bytes")
    for job_id, root, as_of, size, orphan, recent in rows.values_list(*names).iterator(2_000):
        roots[job_id][root] = size, orphan + recent
        sums = [sum(sizes) for sizes in zip(*roots[job_id].values(), strict=True)]
        day = as_of.astimezone(UTC).date()
        if known is None or day >= known:
            days[job_id, day] = StoredDay(
                cluster=cluster,
                job_id=job_id,
                day=day,
                stored_bytes=sums[0],
                unreferenced_bytes=sums[1],
                as_of=now,
            )
    return list(days.values())
