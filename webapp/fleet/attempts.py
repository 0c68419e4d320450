"""The line of ids that one logical job had: jobs of one name on one cluster, each submitted after
the one before was over.

A JobManager that comes back at its address, or somebody who submits a job again, gives it a new id.
Jobs of one name that run side by side are different jobs: none of them follows another.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from webapp.fleet.models import JobCurrent

MOST_SHOWN = 20
MOST_OF_LINES = 20_000
PARAMETER, ALL, THIS = "attempts", "all", "this"
"""Of queries: rows of all attempts of a job, or of the one that is named."""
READ = (
    "job_id",
    "name",
    "state",
    "terminal",
    "start_time",
    "first_seen_at",
    "end_time",
    "last_seen_at",
    "as_of",
    "cluster",
    "restored_at",
)


def line_of(job: JobCurrent) -> list[JobCurrent]:
    """Attempts before and after this one, the newest first, without it; 20 at most."""
    if not job.name:
        return []
    of_name = (
        JobCurrent.objects.filter(cluster=job.cluster, name=job.name)
        .exclude(job_id=job.job_id)
        .only(*READ)
    )
    others = [
        other
        for other in of_name.order_by("-start_time", "-id")[: 5 * MOST_SHOWN]
        if follows(job, other) or follows(other, job)
    ]
    return others[:MOST_SHOWN]


def follows(later: JobCurrent, earlier: JobCurrent) -> bool:
    """Whether one began when the other was over: ended, or never seen again."""
    began, over = began_at(later), over_at(earlier)
    return (
        began is not None
        and over is not None
        and began >= over
        and (began_at(earlier) or over) <= over
    )


def began_at(job: JobCurrent) -> datetime | None:
    began: datetime | None = job.start_time or job.first_seen_at
    return began


def over_at(job: JobCurrent) -> datetime | None:
    over: datetime | None = (job.end_time or job.last_seen_at) if job.terminal else job.last_seen_at
    return over


def ids_of_line(cluster: str, job_id: str) -> list[str]:
    """This id and those of the other attempts of its job; this one alone where it is not known.

    Two queries.
    """
    job = JobCurrent.objects.filter(cluster=cluster, job_id=job_id).only(*READ).first()
    return [job_id, *(other.job_id for other in line_of(job))] if job else [job_id]


def lived_in(job: JobCurrent, start: datetime, end: datetime) -> bool:
    """Whether any of this time is the job's; of one whose beginning or end is not known, as far as
    it was seen.
    """
    first, last = began_at(job), over_at(job)
    return (first is None or first <= end) and (last is None or last >= start)


def predecessors(jobs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    """Of each job (cluster, id): the ids that it follows."""
    wanted = set(jobs)
    own = JobCurrent.objects.filter(
        cluster__in={pair[0] for pair in wanted}, job_id__in={pair[1] for pair in wanted}
    ).only(*READ)
    job_ids_by_job = {
        (job.cluster, job.job_id): {one.job_id for one in line_of(job) if follows(job, one)}
        for job in own
        if job.name
    }
    return {key: job_ids_by_job.get(key, set()) for key in wanted}


def oldest_of_lines(jobs: Iterable[tuple[str, str]], since: datetime) -> dict[tuple[str, str], str]:
    """Of each job (cluster, id), and of those of its line that lived after ``since``: the oldest id
    of these. Two queries a cluster.
    """
    ids: dict[str, set[str]] = defaultdict(set)
    for cluster, job_id in jobs:
        ids[cluster].add(job_id)
    oldest = {
        (cluster, job_id): job_id for cluster, of_cluster in ids.items() for job_id in of_cluster
    }
    for cluster, of_cluster in ids.items():
        of_name: dict[str, list[JobCurrent]] = defaultdict(list)
        names = (
            JobCurrent.objects.filter(cluster=cluster, job_id__in=of_cluster)
            .exclude(name="")
            .values("name")
        )
        same = JobCurrent.objects.filter(
            cluster=cluster, name__in=names, last_seen_at__gte=since
        ).only(*READ)
        for job in same.order_by("-start_time", "-id")[:MOST_OF_LINES].iterator():
            of_name[job.name or ""].append(job)
        for alike in of_name.values():
            for job in alike[: 5 * MOST_SHOWN]:
                line = [
                    job,
                    *(
                        other
                        for other in alike[: 5 * MOST_SHOWN]
                        if follows(job, other) or follows(other, job)
                    ),
                ]
                oldest[cluster, job.job_id] = min(
                    line, key=lambda job: (began_at(job) or job.as_of, job.pk)
                ).job_id
    return oldest
