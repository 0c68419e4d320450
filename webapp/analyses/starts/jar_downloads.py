"""How the jars of a job come to its TaskManagers: each fetches them from the JobManager once,
however many run on one host.

With high availability on, TaskManagers read them from its storage directory instead, and from the
JobManager only where that fails (``BlobCacheService`` of Flink 1.12 to 2.3). A TaskManager logs
when a download begins, not when it ends: that it had ended when the first of its tasks was deployed
is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db.models import Min, Q

from webapp.analyses.starts.job_starts import JobStarts, Start
from webapp.fleet.models import JobCurrent, LogEvent
from webapp.lib.instants import drawable

MOST_LINES = 5_000
CLOCKS_APART = timedelta(seconds=2)
"""Lines of TaskManagers are dated by clocks of their own."""
_TYPES = ("high-availability.type", "high-availability")


@dataclass(frozen=True)
class Download:
    """``process``: the log of the TaskManager.

    ``at_most_ms``: until its first task of the job was deployed; None where that is unknown.
    """

    process: str
    at: datetime
    files: int
    at_most_ms: int | None


@dataclass(frozen=True)
class JarDownloads:
    """Of the newest start in which any were logged, else of the newest one. Of a job no start of
    which was seen whole: all that were logged, ``at`` is then that of the first.

    ``downloads``: longest first.
    """

    at: datetime | None
    high_availability: bool | None
    files: int
    downloads: Sequence[Download]


def jar_downloads(job: JobCurrent, starts: JobStarts, until: datetime) -> JarDownloads:
    """At most two queries."""
    lines = _lines(job, starts.starts, until)
    start = next(
        (start for start in starts.starts if any(_is_of(start, at) for _, at, _ in lines)),
        starts.newest,
    )
    logged: dict[str, list[tuple[datetime, str]]] = {}
    for process, at, path in lines:
        if start is None or _is_of(start, at):
            logged.setdefault(process, []).append((at, path))
    deployed = _deployed(job, start, logged) if start and logged else {}
    downloads = [
        _download(process, files, deployed.get(process)) for process, files in logged.items()
    ]
    return JarDownloads(
        start.at if start else min((at for _, at, _ in lines), default=None),
        high_availability(job),
        len({path for files in logged.values() for _, path in files}),
        sorted(downloads, key=lambda download: (-(download.at_most_ms or 0), download.process)),
    )


def high_availability(job: JobCurrent) -> bool | None:
    """By the configuration of the cluster, where that is known: NONE is Flink's default."""
    if not job.configuration:
        return None
    value = next(
        (str(job.configuration[key]) for key in _TYPES if job.configuration.get(key)), "NONE"
    )
    return value.upper() != "NONE"


def _lines(
    job: JobCurrent, starts: Sequence[Start], until: datetime
) -> list[tuple[str, datetime, str]]:
    """Process, instant and file of each download that was logged around these starts; of all, where
    there is none.
    """
    spans = [Q(ts__gte=begun, ts__lte=ended) for begun, ended in map(_span, starts)]
    around = reduce(or_, spans) if spans else Q(ts__lte=until)
    log_events = LogEvent.objects.filter(
        around, cluster=job.cluster, job_id=job.job_id, kind="blob_download"
    ).order_by("-ts")
    return [
        (process, at, str((fields or {}).get("path") or ""))
        for process, at, fields in log_events.values_list("process", "ts", "fields")[:MOST_LINES]
    ]


def _deployed(
    job: JobCurrent, start: Start, logged: dict[str, list[tuple[datetime, str]]]
) -> dict[str, datetime]:
    begun, ended = _span(start)
    first = min(at for files in logged.values() for at, _ in files)
    tasks = LogEvent.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        kind="task_state",
        reason="DEPLOYING -> INITIALIZING",
        ts__gte=max(begun, first),
        ts__lte=ended,
    )
    return dict(
        tasks.order_by().values("process").annotate(first=Min("ts")).values_list("process", "first")
    )


def _download(
    process: str, files: Sequence[tuple[datetime, str]], deployed_at: datetime | None
) -> Download:
    at = min(begun for begun, _ in files)
    took = (
        None
        if deployed_at is None or deployed_at < at
        else round((deployed_at - at).total_seconds() * 1000)
    )
    return Download(process, at, len({path for _, path in files}), took)


def _span(start: Start) -> tuple[datetime, datetime]:
    # Between the instants that pages reckon with there is room for this.
    return drawable(start.begun_at or start.at) - CLOCKS_APART, drawable(
        start.running_at
    ) + CLOCKS_APART


def _is_of(start: Start, at: datetime) -> bool:
    begun, ended = _span(start)
    return begun <= at <= ended
