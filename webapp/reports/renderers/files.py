"""Every form a document is kept in: how it is made, and what it is called on the way out.

What people read is in a language, times in UTC; JSON is English. A document holds English
sentences, which are translated when they are drawn: so one that was made once can be had in every
language.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC

from django.utils import translation

from webapp.lib import shown_zone
from webapp.reports import document_json
from webapp.reports.document import Report
from webapp.reports.renderers import html, markdown, pdf


@dataclass(frozen=True)
class Form:
    title: str
    content_type: str
    make: Callable[[Report], bytes]


FORMS = {
    "html": Form(
        "HTML", "text/html; charset=utf-8", lambda document: html.render(document).encode()
    ),
    "pdf": Form("PDF", "application/pdf", lambda document: pdf.render(document)),
    "md": Form(
        "Markdown",
        "text/markdown; charset=utf-8",
        lambda document: markdown.render(document).encode(),
    ),
    "json": Form(
        "JSON", "application/json", lambda document: document_json.to_json(document).encode()
    ),
}


ENGLISH = "en"
BY_LANGUAGE = frozenset({"html", "md"})
"""Made in a moment, for whoever asks; a PDF takes a browser, and is kept in the language of who
asked for the report.
"""


def rendered(document: Report, form: str, language: str = ENGLISH) -> bytes:
    """Raises :class:`webapp.reports.renderers.pdf.NoPdf` for a PDF that cannot be made."""
    with translation.override(language), shown_zone.within(lambda: UTC):
        return FORMS[form].make(document)
