"""Title, severity and duration of an incident, from its findings."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from django.db.models import Count, F, Max, Min, OuterRef, Q, Subquery

from spark_jobs.diagnosis.incidents import MOST_COMPARED, IncidentFinding, cause_of
from webapp.findings.choices import SEVERITY_RANK, FindingState
from webapp.findings.models import Finding
from webapp.incidents.choices import IncidentState
from webapp.incidents.members import from_row
from webapp.incidents.models import Incident
from webapp.lib.row_updates import write

SEVERITY_OF_RANK = {rank: str(severity) for severity, rank in SEVERITY_RANK.items()}
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


def outline(ids: Collection[int], near: Mapping[int, tuple[IncidentFinding, int]]) -> None:
    """Update these incidents; ``near``: loaded findings with their incident. Call it in a
    transaction.
    """
    counted = {
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
    at_hand: dict[int, list[IncidentFinding]] = defaultdict(list)
    for finding, incident in near.values():
        at_hand[incident].append(finding)
    rows = list(Incident.objects.filter(pk__in=ids))
    causes = {row.pk: _cause(row, at_hand[row.pk]) for row in rows}
    of_cause = Finding.objects.in_bulk([pk for pk in causes.values() if pk is not None])
    begun_again: list[int] = []
    for row in rows:
        row.cause = of_cause.get(causes[row.pk] or 0)
        if row.cause is not None:
            for name in OF_CAUSE:
                setattr(row, name, getattr(row.cause, name))
        counts = counted.get(row.pk)
        if counts is None:
            row.state, row.ended_at, row.finding_count = (
                IncidentState.CLOSED,
                row.ended_at or row.last_seen,
                0,
            )
            continue
        row.finding_count, row.job_count, row.severity_rank = (
            counts["findings"],
            jobs.get(row.pk, 0),
            counts["rank"],
        )
        row.severity = SEVERITY_OF_RANK[row.severity_rank]
        row.began_at, row.last_seen = counts["began"], counts["last"]
        if counts["open"] and row.state == IncidentState.CLOSED and row.is_acknowledged:
            begun_again.append(row.pk)
        row.state = IncidentState.OPEN if counts["open"] else IncidentState.CLOSED
        row.ended_at = None if counts["open"] else counts["ended"] or counts["last"]
    write(rows, WRITTEN)
    # It was over: an earlier acknowledgement no longer counts.
    Incident.objects.filter(pk__in=begun_again).update(
        acknowledged_by=None,
        acknowledged_name="",
        acknowledged_at=None,
        acknowledge_comment="",
        acknowledged_rank=0,
    )


def stale_titles() -> list[int]:
    """Keys of open incidents whose texts differ from their cause's."""
    stale = Incident.objects.open().filter(cause__isnull=False).exclude(title=F("cause__title"))
    return list(stale.values_list("pk", flat=True))


def retitle(pks: Collection[int]) -> None:
    """Copy the current texts of their causes. Call it in a transaction."""
    of_cause = Finding.objects.filter(pk=OuterRef("cause")).values("title")[:1]
    Incident.objects.filter(pk__in=pks).update(title=Subquery(of_cause))


def _logical_jobs(ids: Collection[int]) -> dict[int, int]:
    named = Finding.objects.filter(incident_member__incident__in=ids).exclude(job_id="").order_by()
    jobs_by_incident: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for incident, cluster, first_id in named.values_list(
        "incident_member__incident", "cluster", "first_attempt_id"
    ).distinct():
        jobs_by_incident[incident].add((cluster, first_id))
    return {incident: len(jobs) for incident, jobs in jobs_by_incident.items()}


def _cause(row: Incident, at_hand: Collection[IncidentFinding]) -> int | None:
    known: int | None = row.cause_id
    if not at_hand or (known is not None and known not in {finding.key for finding in at_hand}):
        return known if known is not None else _any_of(row.pk)
    return cause_of(at_hand).key


def _any_of(incident: int) -> int | None:
    rows = Finding.objects.filter(incident_member__incident=incident).order_by("-last_seen", "-pk")[
        :MOST_COMPARED
    ]
    findings = [from_row(row) for row in rows]
    return cause_of(findings).key if findings else None
