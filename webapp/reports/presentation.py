"""A report as templates draw it: the blocks of its pages, and the parts of its appendix."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp.analyses.document import Verdict
from webapp.analyses.presentation import blocks
from webapp.lib.badges import UNKNOWN, Badge
from webapp.reports.document import Part, Report

_VERDICTS = {
    "crit": Badge("critical", "▲", "crit"),
    "warn": Badge("trouble", "◆", "warn"),
    "ok": Badge("nothing found", "●", "ok"),
}


@dataclass(frozen=True)
class ShownPart:
    part: Part
    blocks: tuple[tuple[str, Any], ...]

    @property
    def verdict(self) -> Verdict:
        return self.part.document.verdict


def verdict(tone: str) -> Badge:
    """Of the pages; a report that is not made yet has none."""
    return _VERDICTS.get(tone, UNKNOWN)


def context(report: Report, base: str = "") -> dict[str, Any]:
    """What the templates of a report need, in a file (``base`` is where Weir is) and on a page."""
    return {
        "document": report,
        "verdict": report.pages.verdict,
        "badge_of_verdict": verdict(report.pages.verdict.tone),
        "pages": list(blocks(report.pages)),
        "appendix": list(_parts(report)),
        "base": base.rstrip("/"),
        "charts": {},
    }


def _parts(report: Report) -> Iterator[ShownPart]:
    for part in report.appendix:
        yield ShownPart(part, tuple(blocks(part.document)))
