"""Findings of the chosen jobs and their clusters; episodes of the same matter are joined."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from django.urls import reverse

from ingest.messages import join_messages, message
from webapp.analyses.document import (
    Advice,
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Table,
    Tone,
    Verdict,
)
from webapp.findings.choices import Severity
from webapp.findings.models import WORST_FIRST, Finding
from webapp.findings.presentation import PresentedFinding, matters, precedence, with_known_bugs
from webapp.reports import texts
from webapp.reports.document import Part
from webapp.reports.report_scope import ReportScope

MOST_ROWS, MOST_REPORTED, MOST_FIGURES = 2_000, 120, 12
_TONES: dict[str, Tone] = {Severity.CRITICAL: "crit", Severity.WARNING: "warn"}


def in_scope(scope: ReportScope) -> tuple[list[PresentedFinding], int]:
    findings = Finding.objects.filter(
        scope.rows, first_seen__lte=scope.end, last_seen__gte=scope.start
    )
    return ranked_matters(findings.order_by(*WORST_FIRST)[:MOST_ROWS])


def ranked_matters(findings: Collection[Finding]) -> tuple[list[PresentedFinding], int]:
    """Matters, the worst first, causes before their symptoms; and how many were left out."""
    by_job: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_job.setdefault((finding.cluster, finding.job_id), []).append(finding)
    ranked = [matter for rows in by_job.values() for matter in matters(rows)]
    ranked.sort(
        key=lambda presented: (
            -presented.finding.severity_rank,
            precedence(presented.finding.rule),
            presented.finding.first_seen,
        )
    )
    return with_known_bugs(_worst_of_each_job(ranked)), max(len(ranked) - MOST_REPORTED, 0)


def _worst_of_each_job(ranked: Sequence[PresentedFinding]) -> list[PresentedFinding]:
    """At most ``MOST_REPORTED``, in the same order: chosen are the worst of each job, then the
    second of each job, and so on.
    """
    counts: Counter[tuple[str, str]] = Counter()
    ranks = []
    for index, presented in enumerate(ranked):
        ranks.append((counts[job_of(presented)], index))
        counts[job_of(presented)] += 1
    chosen = sorted(index for _, index in sorted(ranks)[:MOST_REPORTED])
    return [ranked[index] for index in chosen]


def job_of(presented: PresentedFinding) -> tuple[str, str]:
    return presented.finding.cluster, presented.finding.job_id


def job_name(presented: PresentedFinding) -> str:
    """The job's name, else its id; empty for a finding of a cluster."""
    return texts.name(presented.finding.job_name, presented.finding.job_id)


def part(presented: PresentedFinding) -> Part:
    row = presented.finding
    return Part(
        f"finding-{row.pk}",
        presented.rule_title,
        Document(Verdict(_TONES.get(row.severity, "done"), row.title), tuple(_blocks(presented))),
        reverse("finding", args=(row.pk,)),
    )


def _blocks(presented: PresentedFinding) -> Iterator[Block]:
    row, name = presented.finding, message("Job")
    yield Note(row.cause)
    yield Facts(
        (
            Fact("rule", "Rule", row.rule, "mono"),
            Fact(
                "job",
                name if row.job_id else message("Cluster"),
                job_name(presented) or row.cluster,
            ),
            Fact("confidence", "Confidence", row.confidence),
            Fact("first_seen", "First seen", row.first_seen, "instant"),
            Fact("last_seen", "Last seen", row.last_seen, "instant"),
            Fact("is_open", "Still open", presented.is_open, "flag"),
            Fact("episodes", "Episodes", presented.episodes, "count"),
        )
    )
    if presented.figures:
        yield Table(
            f"evidence-{row.pk}",
            "Evidence",
            (
                Column("figure", "Figure"),
                Column("value", "Value"),
                Column("compared", "Compared with"),
                Column("note", "Note"),
            ),
            tuple(
                (figure.name, figure.value, figure.compared, figure.note)
                for figure in presented.figures[:MOST_FIGURES]
            ),
        )
    bugs = [
        join_messages((beside.sentence, beside.bug.way_out, beside.bug.address), " ")
        for beside in presented.known_bugs
    ]
    yield Advice((row.next_step, *bugs))
