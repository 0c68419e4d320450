from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from spark_jobs.diagnosis.health import health_of
from webapp.findings.choices import FindingState
from webapp.findings.models import WORST_FIRST, Finding
from webapp.findings.presentation import PresentedFinding, matters

ORIGIN_RULES = ("pressure.root", "pressure.outbound")
"""Findings of these rules name the vertices that others wait for."""

MOST_ROWS = 200
SHOWN_IN_FULL = 1


@dataclass(frozen=True)
class JobFindings:
    """``in_full`` and ``in_brief``: warnings and worse that are open, or of an ended job;
    ``context``: the same of severity info. ``earlier``: closed findings of a running job.
    ``of_others``: warnings and worse that were last seen on other attempts of the job.
    """

    in_full: list[PresentedFinding]
    in_brief: list[PresentedFinding]
    context: list[PresentedFinding]
    earlier: list[PresentedFinding]
    of_others: list[PresentedFinding]
    origins: list[PresentedFinding]
    all_open: list[Finding]

    @property
    def current(self) -> list[PresentedFinding]:
        return [*self.in_full, *self.in_brief]

    def deductions(self, health: int | None) -> list[tuple[int, str, Finding]]:
        """(points, reason, finding) per deduction from 100. Empty if their sum is not ``health``:
        the page's range lacks open findings, or the job is just being judged again.
        """
        computed = health_of(self.all_open)
        if computed.value != health:
            return []
        return [
            (deduction.points, deduction.reason, deduction.finding)
            for deduction in computed.deductions
        ]


def of_job(
    cluster: str,
    job_id: str,
    start: datetime,
    end: datetime,
    *,
    is_past: bool,
    attempts: Collection[str] = (),
) -> JobFindings:
    """One query, or two with other ``attempts``. Open findings of any attempt count. ``is_past``: a
    recording or an ended job, whose closed findings are current.
    """
    overlapping = Finding.objects.of_job(cluster, job_id).filter(
        first_seen__lte=end, last_seen__gte=start
    )
    on_other = Q(state=FindingState.CLOSED) & ~Q(job_id=job_id)
    rows = list(overlapping.exclude(on_other).order_by("-state", *WORST_FIRST)[:MOST_ROWS])
    other_attempts = [attempt for attempt in attempts if attempt != job_id]
    of_others = overlapping.filter(on_other, job_id__in=other_attempts)
    newest_of_others = (
        list(of_others.order_by("-last_seen", "-id")[:MOST_ROWS]) if other_attempts else []
    )
    findings = matters(rows)
    current = [finding for finding in findings if finding.is_open or is_past]
    notable = [finding for finding in current if finding.is_notable]
    first_of_rule: dict[str, PresentedFinding] = {}
    for finding in notable:
        # A second finding of a rule is much like the first.
        first_of_rule.setdefault(finding.finding.rule, finding)
    in_full = list(first_of_rule.values())[:SHOWN_IN_FULL]
    return JobFindings(
        in_full=in_full,
        in_brief=[finding for finding in notable if finding not in in_full],
        context=[finding for finding in current if not finding.is_notable],
        earlier=[finding for finding in findings if finding not in current],
        of_others=[finding for finding in matters(newest_of_others) if finding.is_notable],
        origins=[finding for finding in current if finding.finding.rule in ORIGIN_RULES],
        all_open=[row for row in rows if row.state == FindingState.OPEN],
    )
