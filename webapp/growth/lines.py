"""Jobs of a cluster with all their ids: as :mod:`webapp.fleet.attempts` tells of one job, of all at
once.
"""

from collections.abc import Iterable

from webapp.fleet.attempts import MOST_SHOWN, began_at, follows
from webapp.fleet.models import JobCurrent


def lines_of(jobs: Iterable[JobCurrent]) -> list[list[JobCurrent]]:
    """``jobs`` of one cluster; of each line the newest attempts, the newest first.

    Jobs without a name are alone.
    """
    lines: dict[str, list[list[JobCurrent]]] = {}
    for job in sorted(jobs, key=lambda job: (began_at(job) or job.as_of, job.pk)):
        of_name = lines.setdefault(job.name or f"\x00{job.job_id}", [])
        going_on = (
            next((line for line in of_name if follows(job, line[0])), None) if job.name else None
        )
        if going_on is None:
            of_name.append([job])
        else:
            going_on.insert(0, job)
    return [line[:MOST_SHOWN] for of_name in lines.values() for line in of_name]
