"""Every form a document is kept in: how it is made, and what it is called on the way out."""

from collections.abc import Callable
from dataclasses import dataclass

from webapp.reports import document_json
from webapp.reports.document import Document
from webapp.reports.renderers import html, markdown, pdf


@dataclass(frozen=True)
class Form:
    title: str
    content_type: str
    make: Callable[[Document], bytes]


FORMS = {
    "html": Form("HTML", "text/html; charset=utf-8", lambda document: html.render(document).encode()),
    "pdf": Form("PDF", "application/pdf", lambda document: pdf.render(document)),
    "md": Form("Markdown", "text/markdown; charset=utf-8", lambda document: markdown.render(document).encode()),
    "json": Form("JSON", "application/json", lambda document: document_json.to_json(document).encode()),
}


def rendered(document: Document, form: str) -> bytes:
    """Raises :class:`webapp.reports.renderers.pdf.NoPdf` for a PDF that cannot be made."""
    return FORMS[form].make(document)
