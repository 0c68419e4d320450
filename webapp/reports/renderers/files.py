"""All file formats of a document. Formats for people are in a language, with times in UTC; JSON is
English. A document has English sentences, which are translated when rendered, so it is available in
every language.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC

from django.utils import translation

from webapp.lib import shown_zone
from webapp.reports import document_json
from webapp.reports.document import Report
from webapp.reports.renderers import html, markdown


@dataclass(frozen=True)
class Form:
    title: str
    content_type: str
    make: Callable[[Report], bytes]


FORMS = {
    "html": Form(
        "HTML", "text/html; charset=utf-8", lambda document: html.render(document).encode()
    ),
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
"""What people read; JSON is English."""


def rendered(document: Report, form: str, language: str = ENGLISH) -> bytes:
    with translation.override(language), shown_zone.within(lambda: UTC):
        return FORMS[form].make(document)
