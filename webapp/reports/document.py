"""The content of a report as plain data: two pages, and an appendix. Both are documents of analyses
(:mod:`webapp.analyses.document`), whose blocks page and files render. A report
is complete: renderers need no other data. Its texts are shortened and redacted
(:func:`webapp.reports.texts.fit`). Charts are drawn from its own tables
(:mod:`webapp.reports.renderers.html`). Gathering is bounded (``gathering``), and tables give the
number of all rows.
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
    """``pages``: verdict, cause, cost, next steps and time line, on two printed pages."""

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
