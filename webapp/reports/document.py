"""The content of a report as plain data: two pages and an appendix, as documents of analyses.
Renderers need no other data; charts are drawn from its tables
(:mod:`webapp.reports.renderers.html`). Texts are shortened and redacted
(:func:`webapp.reports.texts.fit`). Its size is limited; tables give the number of all rows.
"""

from dataclasses import dataclass
from datetime import datetime

from webapp.analyses.document import Document

VERSION = 2
"""Raise it if a field changes its meaning or is removed, not for new fields."""


@dataclass(frozen=True)
class Part:
    """A part of the appendix. ``key`` identifies it for programs; ``address``: its page in Weir."""

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
