from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Max, Min, Q, QuerySet
from django.http import QueryDict
from django.shortcuts import get_object_or_404

from ingest.messages import message
from webapp.alerting.models import Alert
from webapp.findings.models import Finding
from webapp.fleet.attempts import lived_in, of_jobs, other_attempts
from webapp.fleet.choices import ClusterKind
from webapp.fleet.job_lookup import whole_life
from webapp.fleet.models import Cluster, JobCurrent
from webapp.incidents.models import Incident
from webapp.lib import timeranges
from webapp.lib.instants import drawable
from webapp.lib.refusals import InputRefused
from webapp.lib.scoped_rows import JobKey
from webapp.lib.timeranges import BadTimeRange

MOST_JOBS = 50
LONGEST = timedelta(days=31)
SHORTEST = timedelta(seconds=10)


@dataclass(frozen=True)
class ReportScope:
    """``jobs`` in the order they were chosen; ``start`` < ``end``, aware UTC."""

    jobs: tuple[JobKey, ...]
    start: datetime
    end: datetime

    @property
    def rows(self) -> Q:
        """A filter of findings and alerts: rows of these jobs, and rows of their clusters that have
        no job.
        """
        query = Q(job_id="", cluster__in={job.cluster for job in self.jobs})
        for cluster in {job.cluster for job in self.jobs}:
            ids = [job.job_id for job in self.jobs if job.cluster == cluster]
            query |= of_jobs(ids, cluster)
        return query

    @property
    def points_a_job(self) -> int:
        return max(60, min(400, 3_000 // max(len(self.jobs), 1)))


def rows_of(keys: Collection[JobKey]) -> QuerySet[JobCurrent]:
    """Rows of these jobs, and of other combinations of their clusters and ids, to be left out."""
    return JobCurrent.objects.filter(
        cluster__in={key.cluster for key in keys}, job_id__in={key.job_id for key in keys}
    )


def with_attempts(scope: ReportScope, jobs: Iterable[JobCurrent]) -> ReportScope:
    """Add the other attempts of ``jobs`` that lived in the range, up to ``MOST_JOBS`` in all."""
    keys = dict.fromkeys(scope.jobs)
    for job in jobs:
        if job.key in keys:
            lived_attempts = [
                attempt
                for attempt in other_attempts(job)
                if lived_in(attempt, scope.start, scope.end)
            ]
            keys.update(dict.fromkeys(job.key for job in lived_attempts))
    return replace(scope, jobs=tuple(keys)[:MOST_JOBS])


class BadScope(InputRefused):
    """The message is a sentence for users."""


def checked(jobs: Sequence[JobKey], start: datetime, end: datetime) -> ReportScope:
    """Raises :class:`BadScope`."""
    chosen = tuple(dict.fromkeys(jobs))
    if not chosen:
        raise BadScope(message("Choose at least one job."))
    if len(chosen) > MOST_JOBS:
        raise BadScope(
            message(
                "A report covers at most {most_jobs:number} jobs; {chosen:number} are chosen.",
                most_jobs=MOST_JOBS,
                chosen=len(chosen),
            )
        )
    check_span(start, end)
    return ReportScope(chosen, start, end)


def check_span(start: datetime, end: datetime) -> None:
    """Raises :class:`BadScope`."""
    if end - start < SHORTEST:
        raise BadScope(message("The time has to end after it starts."))
    if end - start > LONGEST:
        raise BadScope(
            message("A report spans at most {days:number} days; make several.", days=LONGEST.days)
        )


BEFORE, AFTER = timedelta(minutes=15), timedelta(minutes=5)
"""Time before and after an alert that its report covers."""
SHORT_LIFE = timedelta(hours=6)
MOST_SHOWN = 30
_LARGE = ("graph", "configuration", "checkpoint_config")


@dataclass(frozen=True)
class RequestedScope:
    """The form: ``chosen`` jobs, the ``worst`` other jobs, and the range as texts."""

    chosen: tuple[JobCurrent, ...]
    worst: tuple[JobCurrent, ...]
    from_text: str
    to_text: str

    @property
    def from_shown(self) -> str:
        return timeranges.as_shown(self.from_text)

    @property
    def to_shown(self) -> str:
        return timeranges.as_shown(self.to_text)


def read(parameters: QueryDict) -> RequestedScope:
    keys = keys_of(parameters.getlist("job"))
    chosen = _jobs(keys)
    from_text, to_text = parameters.get("from", "").strip(), parameters.get("to", "").strip()
    if chosen and not from_text:
        from_text, to_text = proposed_range(chosen)
    return RequestedScope(tuple(chosen), tuple(_worst_jobs(keys)), from_text, to_text)


def proposed_range(jobs: Sequence[JobCurrent]) -> tuple[str, str]:
    """The lives of ended jobs, up to ``LONGEST``; else the last hours."""
    if not jobs or not all(_is_past(job) for job in jobs):
        return timeranges.DEFAULT_FROM, timeranges.DEFAULT_TO
    lives = [whole_life(job, job.last_seen_at or job.as_of) for job in jobs]
    end = max(life.to_time for life in lives)
    start = max(min(life.from_time for life in lives), end - LONGEST)
    return timeranges.iso_text(start), timeranges.iso_text(end)


def keys_of(values: Sequence[str]) -> list[JobKey]:
    """Keys from the form's ``cluster/job id``; invalid ones are left out."""
    parts = [value.replace("\x00", "")[:200].partition("/") for value in values[: 2 * MOST_JOBS]]
    return [JobKey(cluster, job_id) for cluster, _slash, job_id in parts if cluster and job_id]


def scope_of(parameters: QueryDict, at: datetime) -> ReportScope:
    """Raises :class:`BadScope`."""
    keys = keys_of(parameters.getlist("job"))
    from_text, to_text = parameters.get("from", "").strip(), parameters.get("to", "").strip()
    if not from_text and not to_text:
        from_text, to_text = proposed_range(_jobs(keys))
    return scope(keys, from_text, to_text, at)


def scope(jobs: Sequence[JobKey], from_text: str, to_text: str, at: datetime) -> ReportScope:
    """The scope from texts such as ``now-6h``; raises :class:`BadScope`."""
    return checked(jobs, *span(from_text, to_text, at))


def span(from_text: str, to_text: str, at: datetime) -> tuple[datetime, datetime]:
    """The range; by default that of all pages. Raises :class:`BadScope`."""
    try:
        start = timeranges.instant(from_text or timeranges.DEFAULT_FROM, at)
        end = timeranges.instant(to_text or timeranges.DEFAULT_TO, at)
    except BadTimeRange as error:
        raise BadScope(str(error)) from error
    check_span(start, end)
    return start, end


def scope_of_alert(alert: Alert, at: datetime) -> ReportScope:
    """The alert's job, or the worst jobs of its cluster. Raises :class:`BadScope`."""
    if not alert.cluster:
        raise BadScope(
            "This alert is of a storage root, which belongs to no job; choose jobs instead."
        )
    jobs = [JobKey(alert.cluster, alert.job_id)] if alert.job_id else _worst_of(alert.cluster)
    start, end = drawable(alert.starts_at) - BEFORE, min(drawable(alert.ends_at or at) + AFTER, at)
    job = (
        JobCurrent.objects.filter(cluster=alert.cluster, job_id=alert.job_id).first()
        if alert.job_id
        else None
    )
    if job is not None and (job.is_over or alert.recorded):
        life = whole_life(job, job.last_seen_at or job.as_of)
        if life.to_time - life.from_time <= SHORT_LIFE:
            start, end = life.from_time, life.to_time
        else:
            start = max(start, life.from_time)
            end = min(max(end, start + AFTER), life.to_time)
    return checked(jobs, start, min(end, start + LONGEST))


def scope_of_incident(incident: Incident, at: datetime) -> ReportScope:
    """The jobs of the incident's findings, the worst first. Raises :class:`BadScope`."""
    findings = Finding.objects.filter(incident_member__incident=incident).exclude(job_id="")
    ranked = (
        findings.order_by()
        .values_list("cluster", "job_id")
        .annotate(rank=Max("severity_rank"), first=Min("first_seen"))
    )
    jobs = [
        JobKey(cluster, job_id)
        for cluster, job_id, _, _ in ranked.order_by("-rank", "first", "job_id")[:MOST_JOBS]
    ]
    if not jobs and not incident.cluster:
        raise BadScope(
            "This incident is of a storage root, which belongs to no job; choose jobs instead."
        )
    start = drawable(incident.began_at) - BEFORE
    end = max(min(drawable(incident.ended_at or at) + AFTER, at), start + BEFORE)
    return checked(jobs or _worst_of(incident.cluster), max(start, end - LONGEST), end)


def scope_from(incident: str, alert: str, at: datetime) -> ReportScope | None:
    """The scope of the incident or the alert with this uid; None if both are empty. Raises
    :class:`BadScope` and ``Http404``.
    """
    if incident:
        return scope_of_incident(get_object_or_404(Incident, uid=incident), at)
    return scope_of_alert(get_object_or_404(Alert, uid=alert), at) if alert else None


def _worst_of(cluster: str) -> list[JobKey]:
    rows = (
        JobCurrent.objects.newest_attempts()
        .filter(cluster=cluster)
        .worst_first("-last_seen_at", "id")
        .values_list("cluster", "job_id")
    )
    return [JobKey(*row) for row in rows[:MOST_JOBS]]


def _jobs(keys: Sequence[JobKey]) -> list[JobCurrent]:
    rows = {row.key: row for row in rows_of(keys).defer(*_LARGE)}
    return [rows[key] for key in dict.fromkeys(keys) if key in rows][:MOST_JOBS]


def _worst_jobs(chosen: Sequence[JobKey]) -> list[JobCurrent]:
    newest = JobCurrent.objects.newest_attempts().defer(*_LARGE)
    rows = newest.worst_first("-last_seen_at", "id")[: MOST_SHOWN + len(chosen)]
    return [row for row in rows if row.key not in chosen][:MOST_SHOWN]


def _is_past(job: JobCurrent) -> bool:
    return (
        job.is_over or Cluster.objects.filter(name=job.cluster, kind=ClusterKind.RECORDING).exists()
    )
