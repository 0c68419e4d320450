"""The attempts of a job: its successive ids on a cluster, a new one for each submission or return
of a JobManager. An attempt follows another one of the same name that was over when it began; jobs
of one name that run at the same time are different jobs, except in a blue/green pair.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q

from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.chunks import chunks

_HEX = re.compile("[0-9a-f]{1,32}").fullmatch

MOST_SHOWN = 20
MOST_LINKED = 2_000
"""The newest attempts of a name; older attempts keep their links."""
ROWS_AT_ONCE = 500
PARAMETER, ALL, THIS = "attempts", "all", "this"
READ = (
    "job_id",
    "name",
    "state",
    "terminal",
    "start_time",
    "first_seen_at",
    "end_time",
    "last_seen_at",
    "cluster",
    "first_attempt_id",
    "is_newest_attempt",
)
_LINKS = ("first_attempt_id", "is_newest_attempt")

Job = tuple[str, str]
"""cluster, job id."""


@dataclass(frozen=True)
class ChangedLinks:
    """``moved``: attempt → id of its new first attempt. ``followed``: attempts that are no longer
    the newest.
    """

    moved: dict[Job, str]
    followed: list[Job]


def link_loaded(rows: Sequence[Mapping[str, Any]]) -> ChangedLinks:
    """Link rows of ``job_current``. A job without a name has one attempt."""
    nameless = ((row["cluster"], row["job_id"]) for row in rows if not row["name"])
    for cluster, job_ids in _by_cluster(nameless):
        JobCurrent.objects.filter(cluster=cluster, job_id__in=job_ids, first_attempt_id="").update(
            first_attempt_id=F("job_id")
        )
    return link({(row["cluster"], row["name"]) for row in rows if row["name"]})


def link(names: Iterable[tuple[str, str]]) -> ChangedLinks:
    """Set the first and the newest attempt of jobs with these (cluster, name). Call it in a
    transaction.
    """
    links = ChangedLinks({}, [])
    for cluster, some_names in _by_cluster(names):
        _link(cluster, some_names, links)
    return links


def _link(cluster: str, names: Sequence[str], links: ChangedLinks) -> None:
    by_name: dict[str, list[JobCurrent]] = defaultdict(list)
    rows = JobCurrent.objects.filter(cluster=cluster, name__in=names).only(*READ)
    for job in rows.order_by("-start_time", "-id").iterator():
        if len(by_name[job.name or ""]) < MOST_LINKED:
            by_name[job.name or ""].append(job)
    is_pair = Cluster.objects.filter(name=cluster, operator__blue_green__gt="").exists()
    changed = [job for jobs in by_name.values() for job in _relink(jobs, links, is_pair)]
    JobCurrent.objects.bulk_update(changed, _LINKS, batch_size=ROWS_AT_ONCE)


def _relink(jobs: Sequence[JobCurrent], links: ChangedLinks, is_pair: bool) -> Iterable[JobCurrent]:
    used_ids = {job.job_id for job in jobs}
    for attempts in attempts_in_order(jobs, is_pair=is_pair):
        stored_id = attempts[0].first_attempt_id
        # The stored id stays if retention deleted the first attempt.
        first_id = stored_id if stored_id and stored_id not in used_ids else attempts[0].job_id
        used_ids.add(first_id)
        for job in attempts:
            is_newest = job is attempts[-1]
            if (job.first_attempt_id, job.is_newest_attempt) == (first_id, is_newest):
                continue
            if (job.first_attempt_id or job.job_id) != first_id:
                links.moved[job.cluster, job.job_id] = first_id
            if job.is_newest_attempt and not is_newest:
                links.followed.append((job.cluster, job.job_id))
            job.first_attempt_id, job.is_newest_attempt = first_id, is_newest
            yield job


def attempts_in_order(
    jobs: Iterable[JobCurrent], *, is_pair: bool = False
) -> list[list[JobCurrent]]:
    """The attempts of each job, oldest first. An attempt follows the one that ended last. Of a
    blue/green pair (``is_pair``), the second begins before the first ends.
    """
    attempts_by_job: list[list[JobCurrent]] = []
    for job in sorted(jobs, key=lambda job: (began_at(job) is not None, began_at(job), job.pk)):
        earlier = [
            attempts for attempts in attempts_by_job if is_pair or follows(job, attempts[-1])
        ]
        if earlier:
            max(earlier, key=lambda attempts: (over_at(attempts[-1]), attempts[-1].pk)).append(job)
        else:
            attempts_by_job.append([job])
    return attempts_by_job


def follows(later: JobCurrent, earlier: JobCurrent) -> bool:
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
    over: datetime | None = (job.end_time or job.last_seen_at) if job.is_over else job.last_seen_at
    return over


def other_attempts(job: JobCurrent) -> list[JobCurrent]:
    """At most 20, the newest first."""
    if not job.first_attempt_id:
        return []
    same = JobCurrent.objects.filter(cluster=job.cluster, first_attempt_id=job.first_attempt_id)
    attempts = same.exclude(job_id=job.job_id).only(*READ, "as_of", "restored_at")
    return list(attempts.order_by("-start_time", "-id")[:MOST_SHOWN])


def attempt_ids(cluster: str, job_id: str) -> list[str]:
    """All ids of the job, ``job_id`` first."""
    job = JobCurrent.objects.filter(cluster=cluster, job_id=job_id).only(*READ).first()
    return [job_id, *(attempt.job_id for attempt in other_attempts(job))] if job else [job_id]


def lived_in(job: JobCurrent, start: datetime, end: datetime) -> bool:
    first, last = began_at(job), over_at(job)
    return (first is None or first <= end) and (last is None or last >= start)


def first_attempts(jobs: Iterable[Job]) -> dict[Job, str]:
    """(cluster, job id) → id of the first attempt."""
    first_ids: dict[Job, str] = {}
    for cluster, job_ids in _by_cluster(jobs):
        first_ids |= {(cluster, job_id): job_id for job_id in job_ids}
        rows = JobCurrent.objects.filter(cluster=cluster, job_id__in=job_ids)
        for job_id, first_id in rows.values_list("job_id", "first_attempt_id"):
            first_ids[cluster, job_id] = first_id or job_id
    return first_ids


def of_jobs(job_ids: Collection[str], cluster: str) -> Q:
    """Condition for rows with ``first_attempt_id``: those of jobs with one of these ids."""
    same_jobs = _jobs_with(Q(cluster=cluster, job_id__in=job_ids))
    return Q(cluster=cluster) & (Q(first_attempt_id__in=job_ids) | same_jobs)


def with_id(job_id: str) -> Q:
    """As :func:`of_jobs`, on any cluster."""
    return Q(first_attempt_id=job_id) | _jobs_with(Q(job_id=job_id))


def like(text: str) -> Q:
    """Condition for :class:`JobCurrent`: a part of the name, or the first hex digits of any
    attempt's id.
    """
    by_name = Q(name__icontains=text)
    if not _HEX(text.lower()):
        return by_name
    by_id = Q(job_id__startswith=text.lower())
    return by_name | by_id | _jobs_with(by_id)


def _jobs_with(attempt: Q) -> Q:
    rows = JobCurrent.objects.filter(attempt).exclude(first_attempt_id="")
    return Q(first_attempt_id__in=rows.values("first_attempt_id"))


def ids_by_first_attempt(jobs: Iterable[Job]) -> dict[Job, list[str]]:
    """(cluster, first attempt) → ids of all attempts, newest last."""
    ids: dict[Job, list[str]] = {}
    for cluster, first_ids in _by_cluster(jobs):
        rows = JobCurrent.objects.filter(cluster=cluster, first_attempt_id__in=first_ids)
        for first_id, job_id in rows.order_by("is_newest_attempt", "id").values_list(
            "first_attempt_id", "job_id"
        ):
            ids.setdefault((cluster, first_id), []).append(job_id)
        for first_id in first_ids:
            attempts = ids.setdefault((cluster, first_id), [])
            if first_id not in attempts:
                attempts.insert(0, first_id)
    return ids


def _by_cluster(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """At most 500 ids or names of a cluster at once."""
    by_cluster: dict[str, set[str]] = defaultdict(set)
    for cluster, text in pairs:
        by_cluster[cluster].add(text)
    for cluster, texts in by_cluster.items():
        for part in chunks(sorted(texts), ROWS_AT_ONCE):
            yield cluster, part
