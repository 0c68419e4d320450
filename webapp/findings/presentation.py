"""Findings for pages. A matter is a rule and a subject: its episodes are shown as one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.diagnosis.registry import all_rules
from webapp.findings.badges import CONFIDENCE_WORDS, severity_badge, state_badge
from webapp.findings.choices import SEVERITY_RANK, FindingState, Severity
from webapp.findings.figures import Figure, figures
from webapp.findings.known_bugs import BugBeside, bugs_beside
from webapp.findings.models import Finding
from webapp.lib.badges import Badge


@dataclass(frozen=True)
class Relation:
    kind: str
    subject: str
    note: str = ""
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class PresentedFinding:
    """``episodes``: how many findings this one stands for, see :func:`matters`. ``known_bugs``: set
    by :func:`with_known_bugs`.
    """

    finding: Finding
    severity: Badge
    state: Badge
    figures: list[Figure]
    relations: list[Relation]
    rule_title: str
    episodes: int = 1
    known_bugs: tuple[BugBeside, ...] = ()

    @property
    def is_open(self) -> bool:
        return bool(self.finding.state == FindingState.OPEN)

    @property
    def confidence_word(self) -> str:
        return CONFIDENCE_WORDS.get(self.finding.confidence, self.finding.confidence)

    @property
    def longest_way(self) -> tuple[str, ...]:
        return max((relation.path for relation in self.relations), key=len, default=())

    @property
    def is_notable(self) -> bool:
        return bool(self.finding.severity_rank > SEVERITY_RANK[Severity.INFO])


def present(finding: Finding) -> PresentedFinding:
    rule = all_rules().get(finding.rule)
    return PresentedFinding(
        finding,
        severity_badge(finding.severity),
        state_badge(finding.state),
        figures(finding.evidence),
        relations(finding.related),
        rule.title if rule else finding.rule,
    )


def with_known_bugs(presented: Iterable[PresentedFinding]) -> list[PresentedFinding]:
    rows = list(presented)
    bugs = bugs_beside(row.finding for row in rows)
    return [replace(row, known_bugs=bugs.get(row.finding.pk, ())) for row in rows]


def matters(findings: Iterable[Finding]) -> list[PresentedFinding]:
    """The newest finding of each rule and subject, an open one if there is one; open first, then
    worst, then newest.
    """
    newest: dict[tuple[str, str], PresentedFinding] = {}
    for finding in sorted(
        findings,
        key=lambda finding: (
            finding.state == FindingState.OPEN,
            finding.last_seen,
            finding.pk or 0,
        ),
        reverse=True,
    ):
        key = (finding.rule, finding.subject_id)
        newer = newest.get(key)
        newest[key] = replace(newer, episodes=newer.episodes + 1) if newer else present(finding)
    newest_first = sorted(newest.values(), key=lambda row: row.finding.last_seen, reverse=True)
    return sorted(
        newest_first,
        key=lambda row: (
            not row.is_open,
            -row.finding.severity_rank,
            precedence(row.finding.rule),
        ),
    )


def relations(related: Any) -> list[Relation]:
    return [
        Relation(
            str(row.get("kind") or ""),
            str(row.get("subject")),
            str(row.get("note") or ""),
            _path(row.get("path")),
        )
        for row in related or ()
        if isinstance(row, Mapping) and row.get("subject")
    ]


def _path(path: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in path) if isinstance(path, list | tuple) else ()


def precedence(rule: str) -> int:
    """Sorts equally severe findings: causes first, such as pressure before slow barriers."""
    families = ("collect", "restore", "restart", "pressure", "data", "watermark")
    family = rule.split(".", 1)[0]
    return families.index(family) if family in families else len(families)
