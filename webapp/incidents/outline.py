from collections import defaultdict
from collections.abc import Collection, Mapping

from django.db.models import Count, F, Max, Min, OuterRef, Q, Subquery

from spark_jobs.diagnosis.incidents import MOST_COMPARED, IncidentFinding, cause_of
from webapp.findings.choices import SEVERITY_OF_RANK, FindingState
from webapp.findings.models import Finding
from webapp.incidents.choices import IncidentState
from webapp.incidents.members import from_row
from webapp.incidents.models import Incident
from webapp.lib.row_updates import write

OF_CAUSE = ("cluster", "job_id", "job_name", "rule", "title")
WRITTEN = (
    *OF_CAUSE,
    "cause",
    "severity",
    "severity_rank",
    "state",
    "began_at",
    "last_seen",
    "ended_at",
    "finding_count",
    "job_count",
)


def outline(ids: Collection[int], loaded: Mapping[int, tuple[IncidentFinding, int]]) -> None:
    """Update incidents. ``loaded``: finding key → finding and key of its incident, as far as they
    are read already. Call in a transaction.
    """
    counts_by_incident = {
        row["incident_member__incident"]: row
        for row in Finding.objects.filter(incident_member__incident__in=ids)
        .order_by()
        .values("incident_member__incident")
        .annotate(
            findings=Count("pk"),
            rank=Max("severity_rank"),
            began=Min("first_seen"),
            last=Max("last_seen"),
            ended=Max("closed_at"),
            open=Count("pk", filter=Q(state=FindingState.OPEN)),
        )
    }
    jobs = _logical_jobs(ids)
    loaded_by_incident: dict[int, list[IncidentFinding]] = defaultdict(list)
    for finding, incident in loaded.values():
        loaded_by_incident[incident].append(finding)
    rows = list(Incident.objects.filter(pk__in=ids))
    causes = {row.pk: _cause(row, loaded_by_incident[row.pk]) for row in rows}
    causing_findings = Finding.objects.in_bulk([pk for pk in causes.values() if pk is not None])
    reopened: list[int] = []
    for row in rows:
        row.cause = causing_findings.get(causes[row.pk] or 0)
        if row.cause is not None:
            for name in OF_CAUSE:
                setattr(row, name, getattr(row.cause, name))
        counts = counts_by_incident.get(row.pk)
        if counts is None:
            row.state, row.finding_count = IncidentState.CLOSED, 0
            row.ended_at = row.ended_at or row.last_seen
            continue
        row.finding_count, row.job_count = counts["findings"], jobs.get(row.pk, 0)
        row.severity_rank = counts["rank"]
        row.severity = SEVERITY_OF_RANK[row.severity_rank]
        row.began_at, row.last_seen = counts["began"], counts["last"]
        if counts["open"] and row.state == IncidentState.CLOSED and row.is_acknowledged:
            reopened.append(row.pk)
        row.state = IncidentState.OPEN if counts["open"] else IncidentState.CLOSED
        row.ended_at = None if counts["open"] else counts["ended"] or counts["last"]
    write(rows, WRITTEN)
    # An acknowledgement from before an incident closed no longer counts.
    Incident.objects.filter(pk__in=reopened).update(
        acknowledged_by=None,
        acknowledged_name="",
        acknowledged_at=None,
        acknowledge_comment="",
        acknowledged_rank=0,
    )


def stale_titles() -> list[int]:
    """Keys of open incidents whose title differs from their cause's."""
    stale = Incident.objects.open().filter(cause__isnull=False).exclude(title=F("cause__title"))
    return list(stale.values_list("pk", flat=True))


def retitle(pks: Collection[int]) -> None:
    """Copy the current titles of the causes. Call in a transaction."""
    titles = Finding.objects.filter(pk=OuterRef("cause")).values("title")[:1]
    Incident.objects.filter(pk__in=pks).update(title=Subquery(titles))


def _logical_jobs(ids: Collection[int]) -> dict[int, int]:
    job_findings = (
        Finding.objects.filter(incident_member__incident__in=ids).exclude(job_id="").order_by()
    )
    jobs_by_incident: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for incident, cluster, first_id in job_findings.values_list(
        "incident_member__incident", "cluster", "first_attempt_id"
    ).distinct():
        jobs_by_incident[incident].add((cluster, first_id))
    return {incident: len(jobs) for incident, jobs in jobs_by_incident.items()}


def _cause(row: Incident, loaded: Collection[IncidentFinding]) -> int | None:
    known: int | None = row.cause_id
    if not loaded or (known is not None and known not in {finding.key for finding in loaded}):
        return known if known is not None else _cause_in_database(row.pk)
    return cause_of(loaded).key


def _cause_in_database(incident: int) -> int | None:
    rows = Finding.objects.filter(incident_member__incident=incident).order_by("-last_seen", "-pk")[
        :MOST_COMPARED
    ]
    findings = [from_row(row) for row in rows]
    return cause_of(findings).key if findings else None
