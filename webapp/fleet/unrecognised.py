"""What Weir did not recognise in the last seven days: log lines that begin like a known line but go
on differently, as a Flink release reworded them; and failures of unknown cause, candidates for
:mod:`spark_jobs.diagnosis.failure_causes`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from ingest.flink_logs.patterns import UNREAD
from ingest.redaction.texts import redact
from spark_jobs.diagnosis.failure_causes.table import cause_of_failure
from spark_jobs.diagnosis.root_exceptions import RootException, root_of
from webapp.fleet.models import Cluster, JobCurrent, JobException, LogEvent

WITHIN = timedelta(days=7)
MOST_LINES, MOST_FAILURES = 5_000, 500
MOST_GROUPS = 50
MOST_NAMES = 5
EXAMPLE_CHARS = 300


@dataclass(frozen=True, slots=True)
class UnreadLines:
    """``flink_version``: what the clusters run now; ``example``: the newest line, redacted."""

    flink_version: str | None
    begins_as: str
    lines: int
    clusters: tuple[str, ...]
    more_clusters: int
    last_at: datetime
    example: str


@dataclass(frozen=True, slots=True)
class UnknownCause:
    """``exception``: class of the root exception; ``frame``: the first frame of the job's own code;
    ``example``: the newest failure, redacted.
    """

    exception: str
    frame: str | None
    failures: int
    jobs: tuple[str, ...]
    more_jobs: int
    last_at: datetime
    example: str


def unread_lines(now: datetime, cluster: str | None = None) -> list[UnreadLines]:
    """Most lines first."""
    events = LogEvent.objects.filter(_in_cluster(cluster), kind=UNREAD, ts__gte=now - WITHIN)
    columns = ("cluster", "reason", "ts", "message")
    rows = list(events.order_by("-ts").values_list(*columns)[:MOST_LINES])
    clusters = Cluster.objects.filter(name__in={row[0] for row in rows})
    versions = dict(clusters.values_list("name", "flink_version"))
    by_beginning: dict[tuple[str | None, str], list[tuple[str, datetime, str]]] = defaultdict(list)
    for name, begins_as, ts, message in rows:
        by_beginning[versions.get(name), begins_as or ""].append((name, ts, message or ""))
    groups = [
        UnreadLines(
            version,
            begins_as,
            len(lines),
            *_most_common(name for name, _, _ in lines),
            last_at=lines[0][1],
            example=lines[0][2],
        )
        for (version, begins_as), lines in by_beginning.items()
    ]
    return sorted(groups, key=lambda group: -group.lines)[:MOST_GROUPS]


def unknown_causes(now: datetime, cluster: str | None = None) -> list[UnknownCause]:
    """Most failures first."""
    failures = JobException.objects.filter(
        _in_cluster(cluster), ~Q(is_root=False), ts__gte=now - WITHIN
    )
    columns = ("cluster", "job_id", "ts", "exception_name", "stacktrace")
    is_known: dict[str, bool] = {}
    by_root: dict[str, list[tuple[RootException, tuple[str, str], datetime]]] = defaultdict(list)
    for of_cluster, job_id, ts, name, trace in failures.order_by("-ts").values_list(*columns)[
        :MOST_FAILURES
    ]:
        root = root_of(name, trace)
        key = str(root.group)
        if key not in is_known:
            is_known[key] = cause_of_failure(root.name, trace) is not None
        if not is_known[key]:
            by_root[key].append((root, (of_cluster, job_id), ts))
    job_ids = {job_id for group in by_root.values() for _, (_, job_id), _ in group}
    jobs = JobCurrent.objects.filter(job_id__in=job_ids).only("cluster", "job_id", "name")
    names = {(job.cluster, job.job_id): job.name or job.job_id for job in jobs}
    causes = [
        UnknownCause(
            root.name,
            root.frame,
            len(group),
            *_most_common(names.get(job, job[1]) for _, job, _ in group),
            last_at,
            redact(f"{root.name}: {root.message}")[:EXAMPLE_CHARS],
        )
        for group in by_root.values()
        for root, _, last_at in group[:1]  # the newest failure
    ]
    return sorted(causes, key=lambda cause: -cause.failures)[:MOST_GROUPS]


def _in_cluster(cluster: str | None) -> Q:
    return Q(cluster=cluster) if cluster else Q()


def _most_common(names: Iterable[str]) -> tuple[tuple[str, ...], int]:
    ranked = [name for name, _ in Counter(names).most_common()]
    return tuple(ranked[:MOST_NAMES]), max(len(ranked) - MOST_NAMES, 0)
