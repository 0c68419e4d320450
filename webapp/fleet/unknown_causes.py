"""Failures that match no known cause, by root exception: candidates for
:mod:`spark_jobs.diagnosis.failure_causes`.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from ingest.redaction.texts import redact
from spark_jobs.diagnosis.failure_causes.table import cause_of_failure
from spark_jobs.diagnosis.root_exceptions import RootException, root_of
from webapp.fleet.models import JobCurrent, JobException
from webapp.fleet.unread_lines import MOST_SHOWN, WITHIN

MOST_FAILURES = 500
EXAMPLE_CHARS = 300
JOBS_NAMED = 5


@dataclass(frozen=True, slots=True)
class UnknownCause:
    """``exception`` is the root's class, ``frame`` the first one of the job's own code. ``jobs`` are
    names, those with most failures first; ``example`` is the newest one, without secrets.
    """

    exception: str
    frame: str | None
    failures: int
    jobs: tuple[str, ...]
    more_jobs: int
    first_at: datetime
    last_at: datetime
    example: str


@dataclass(frozen=True, slots=True)
class UnknownCausesFound:
    """``counted``: newest failures examined; ``cut``: there are more, or more groups. ``groups``:
    most failures first.
    """

    since: datetime
    counted: int
    cut: bool
    groups: tuple[UnknownCause, ...]


def unknown_causes(now: datetime, cluster: str | None = None) -> UnknownCausesFound:
    """Groups of the last seven days, of all clusters or one."""
    since = now - WITHIN
    failures = JobException.objects.filter(
        ~Q(is_root=False), ts__gte=since, **({"cluster": cluster} if cluster else {})
    ).order_by("-ts")
    columns = ("cluster", "job_id", "ts", "exception_name", "stacktrace")
    rows = list(failures.values_list(*columns)[: MOST_FAILURES + 1])
    cut, rows = len(rows) > MOST_FAILURES, rows[:MOST_FAILURES]
    is_known: dict[str, bool] = {}
    alike: dict[str, list[tuple[RootException, tuple[str, str], datetime]]] = {}
    for of_cluster, job_id, ts, name, trace in rows:
        root = root_of(name, trace)
        group = str(root.group)
        if group not in is_known:
            is_known[group] = cause_of_failure(root.name, trace) is not None
        if not is_known[group]:
            alike.setdefault(group, []).append((root, (of_cluster, job_id), ts))
    jobs = {job for of_group in alike.values() for _, job, _ in of_group}
    names = {
        (row.cluster, row.job_id): row.name
        for row in JobCurrent.objects.filter(job_id__in={job_id for _, job_id in jobs}).only(
            "cluster", "job_id", "name"
        )
    }
    groups = sorted((_group(one, names) for one in alike.values()), key=lambda one: -one.failures)
    return UnknownCausesFound(
        since, len(rows), cut or len(groups) > MOST_SHOWN, tuple(groups[:MOST_SHOWN])
    )


def _group(
    failures: list[tuple[RootException, tuple[str, str], datetime]],
    names: dict[tuple[str, str], str | None],
) -> UnknownCause:
    root = failures[0][0]
    jobs = [
        names.get(job) or job[1]
        for job, _ in Counter(failure[1] for failure in failures).most_common()
    ]
    times = [at for _, _, at in failures]
    return UnknownCause(
        root.name,
        root.frame,
        len(failures),
        tuple(jobs[:JOBS_NAMED]),
        max(len(jobs) - JOBS_NAMED, 0),
        min(times),
        max(times),
        redact(f"{root.name}: {root.message}")[:EXAMPLE_CHARS],
    )
