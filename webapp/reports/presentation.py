"""A document as templates show it: badges beside words, groups, and what is there at all. Pure.

Its sentences are English and are translated where they are shown; names that they hold stay.
"""

from dataclasses import dataclass
from itertools import groupby

from webapp.findings.badges import severity_badge
from webapp.fleet.badges import job_badge
from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.instants import day_text
from webapp.reports.document import Document, JobStory, Moment, ReportedFinding

_VERDICTS = {
    "crit": Badge("critical", "▲", "crit"),
    "warn": Badge("trouble", "◆", "warn"),
    "ok": Badge("nothing found", "●", "ok"),
    "unknown": UNKNOWN,
}
_SHAPES = {"crit": "✕", "warn": "◆", "ok": "●", "done": "■"}


@dataclass(frozen=True)
class ShownDay:
    """Moments of one day; the day stands once above them."""

    day: str
    moments: list[tuple[Moment, str]]


@dataclass(frozen=True)
class PresentedReport:
    """``notable`` are findings to act on, ``context`` those that explain."""

    verdict: Badge
    several: bool
    days: list[ShownDay]
    notable: list[tuple[ReportedFinding, Badge]]
    context: list[ReportedFinding]
    jobs: list[tuple[JobStory, Badge]]
    related: tuple[dict[str, list[str]], ...]
    """Names of jobs, vertices and tasks, as the filter ``translated`` asks for them."""

    @property
    def first_job(self) -> JobStory | None:
        return self.jobs[0][0] if self.jobs else None


def verdict(tone: str) -> Badge:
    """Of the first screen; a report that is not made yet has none."""
    return _VERDICTS.get(tone, UNKNOWN)


def shown(document: Document) -> PresentedReport:
    return PresentedReport(
        verdict=verdict(document.summary.tone),
        several=len(document.stories) > 1,
        days=[
            ShownDay(day, [(moment, _SHAPES.get(moment.tone, "■")) for moment in moments])
            for day, moments in groupby(document.timeline, key=lambda moment: day_text(moment.at))
        ],
        notable=[
            (finding, severity_badge(finding.severity))
            for finding in document.findings
            if finding.severity != "info"
        ],
        context=[finding for finding in document.findings if finding.severity == "info"],
        jobs=[(story, job_badge(story.state)) for story in document.stories],
        related=({"subject": sorted(_names(document))},),
    )


def _names(document: Document) -> set[str]:
    names = {
        name
        for finding in document.findings
        for name in (finding.job_name, finding.subject, *finding.path)
    }
    for story in document.stories:
        names |= {
            story.name,
            *(row.vertex for row in story.pressure),
            *(exception.task for exception in story.exceptions),
        }
    return names
