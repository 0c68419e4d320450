from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.diagnosis.incidents import IncidentFinding, follows, in_order_of_cause, trace_of
from webapp.findings.choices import FindingState
from webapp.findings.folding import hold_of
from webapp.findings.models import Finding
from webapp.incidents.models import Incident

MOST_MEMBERS = 200


@dataclass(frozen=True)
class Member:
    """``from_rules``: rules of the findings that this one follows from."""

    finding: Finding
    is_cause: bool
    from_rules: tuple[str, ...] = ()


def from_row(row: Finding) -> IncidentFinding:
    return IncidentFinding(
        row.pk,
        row.cluster,
        row.first_attempt_id,
        row.rule,
        row.subject_id,
        row.first_seen,
        row.last_seen,
        row.severity_rank,
        row.state == FindingState.OPEN,
        hold_of(row.rule),
        trace_of(row.rule, row.subject_kind, row.subject_id, row.data or {}),
    )


def members(incident: Incident) -> list[Member]:
    """The newest ``MOST_MEMBERS`` and the cause."""
    findings = Finding.objects.filter(incident_member__incident=incident)
    rows = list(findings.order_by("-last_seen", "-pk")[:MOST_MEMBERS])
    if incident.cause_id is not None and incident.cause_id not in {row.pk for row in rows}:
        rows += list(findings.filter(pk=incident.cause_id))
    return sort_by_cause(rows, incident.cause_id)


def sort_by_cause(rows: Sequence[Finding], cause: int | None) -> list[Member]:
    if not rows:
        return []
    compared = [from_row(row) for row in rows]
    by_key = {row.pk: row for row in rows}
    order = sorted(in_order_of_cause(compared), key=lambda finding: finding.key != cause)
    return [
        Member(
            by_key[finding.key],
            finding.key == order[0].key,
            tuple(dict.fromkeys(other.rule for other in compared if follows(finding, other))),
        )
        for finding in order
    ]
