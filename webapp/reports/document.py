"""What a report says, as plain data: two pages, and an appendix that is read on demand.

Both are documents of analyses (:mod:`webapp.analyses.document`): page, file, PDF, Markdown and JSON
draw their blocks as they draw those of an analysis. A report is complete: no renderer asks anybody
anything. Its texts are cut and without secrets (:func:`webapp.reports.texts.fit`). Charts are drawn
from its own tables (:mod:`webapp.reports.renderers.html`). What fills it from rows
(``gathering``) is bounded, and tables say of how many rows theirs are the first.
"""

from dataclasses import dataclass
from datetime import datetime

from webapp.analyses.document import Document

VERSION = 2
"""Raised where a field changes its meaning or goes away; new fields do not raise it."""


@dataclass(frozen=True)
class Part:
    """A part of the appendix. ``key`` names it for programs; ``address`` leads to it in Weir."""

    key: str
    title: str
    document: Document
    address: str = ""


@dataclass(frozen=True)
class Report:
    """``pages``: verdict, cause, cost, next steps and time line, on two sheets of paper."""

    kind: str
    uid: str
    title: str
    made_at: datetime
    made_by: str
    start: datetime
    end: datetime
    pages: Document
    appendix: tuple[Part, ...] = ()
    from_alert: str = ""
    version: int = VERSION
