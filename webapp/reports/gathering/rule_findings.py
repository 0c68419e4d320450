"""What the rules found of the chosen jobs and their clusters in the time: several episodes of one
matter as one.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.findings.models import WORST_FIRST, Finding
from webapp.findings.presentation import (
    PresentedFinding,
    matters,
    precedence,
    with_known_bugs,
)
from webapp.reports import texts
from webapp.reports.document import Figure, ReportedBug, ReportedFinding
from webapp.reports.gathering.scope import ReportScope

MOST_ROWS = 2_000
MOST_REPORTED = 120
MOST_FIGURES = 12


def gathered(scope: ReportScope) -> tuple[tuple[ReportedFinding, ...], int]:
    """The worst first, and how many were left out.

    One query: findings of the jobs, and those of their clusters as a whole.
    """
    findings = Finding.objects.filter(
        scope.rows, first_seen__lte=scope.end, last_seen__gte=scope.start
    )
    return reported(findings.order_by(*WORST_FIRST)[:MOST_ROWS])


def reported(findings: Collection[Finding]) -> tuple[tuple[ReportedFinding, ...], int]:
    """Findings as matters, the worst first, of two equally bad ones that which explains the other;
    and how many were left out.
    """
    of_job: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        of_job.setdefault((finding.cluster, finding.job_id), []).append(finding)
    shown = [matter for rows in of_job.values() for matter in matters(rows)]
    shown.sort(
        key=lambda finding: (
            -finding.finding.severity_rank,
            precedence(finding.finding.rule),
            finding.finding.first_seen,
        )
    )
    return tuple(_reported(finding) for finding in with_known_bugs(_fairly(shown))), max(
        len(shown) - MOST_REPORTED, 0
    )


def _fairly(shown: Sequence[PresentedFinding]) -> list[PresentedFinding]:
    """As many as are reported, in the same order: the worst of every job before the second of
    any.
    """
    counts: Counter[tuple[str, str]] = Counter()
    places = []
    for number, finding in enumerate(shown):
        job = (finding.finding.cluster, finding.finding.job_id)
        places.append((counts[job], number))
        counts[job] += 1
    return [
        shown[number]
        for _place, number in sorted(sorted(places)[:MOST_REPORTED], key=lambda place: place[1])
    ]


def is_notable(finding: ReportedFinding) -> bool:
    """Info explains; it is nothing to act on."""
    return finding.severity != Severity.INFO


def rank(finding: ReportedFinding) -> int:
    ranks: dict[str, int] = {str(severity): number for severity, number in SEVERITY_RANK.items()}
    return ranks.get(finding.severity, 0)


def of_job(findings: Sequence[ReportedFinding], cluster: str, job_id: str) -> list[ReportedFinding]:
    return [
        finding for finding in findings if (finding.cluster, finding.job_id) == (cluster, job_id)
    ]


def _reported(shown: PresentedFinding) -> ReportedFinding:
    row = shown.finding
    return ReportedFinding(
        number=row.pk,
        cluster=row.cluster,
        job_id=row.job_id,
        job_name=texts.name(row.job_name, row.job_id),
        rule=row.rule,
        rule_title=shown.rule_title,
        severity=row.severity,
        confidence=row.confidence,
        subject_kind=row.subject_kind,
        subject=texts.name(row.subject),
        title=texts.bounded(row.title, texts.SENTENCE),
        cause=texts.bounded(row.cause, texts.PARAGRAPH),
        next_step=texts.bounded(row.next_step, texts.PARAGRAPH),
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        is_open=shown.is_open,
        episodes=shown.episodes,
        figures=tuple(
            Figure(
                texts.name(figure.name),
                texts.bounded(figure.value),
                texts.bounded(figure.compared),
                texts.bounded(figure.note),
                figure.at,
            )
            for figure in shown.figures[:MOST_FIGURES]
        ),
        path=tuple(texts.name(step) for step in shown.longest_way[:30]),
        excess_bytes=_whole(row.data.get("excess_bytes")) if isinstance(row.data, dict) else None,
        known_bugs=tuple(
            ReportedBug(
                beside.issue,
                texts.bounded(beside.sentence, texts.PARAGRAPH),
                texts.bounded(beside.way_out, texts.PARAGRAPH),
                beside.address,
            )
            for beside in shown.known_bugs
        ),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
