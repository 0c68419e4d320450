"""The file formats of a report: HTML in the reader's language, with times in UTC, and JSON in
English. Sentences are translated when they are rendered.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC

from django.utils import translation

from webapp.lib import shown_zone
from webapp.reports import document_json
from webapp.reports.document import Report
from webapp.reports.renderers import html


@dataclass(frozen=True)
class Form:
    title: str
    content_type: str
    make: Callable[[Report], bytes]


FORMS = {
    "html": Form(
        "HTML", "text/html; charset=utf-8", lambda document: html.render(document).encode()
    ),
    "json": Form(
        "JSON", "application/json", lambda document: document_json.to_json(document).encode()
    ),
}


ENGLISH = "en"


def rendered(document: Report, form: str, language: str = ENGLISH) -> bytes:
    with translation.override(language), shown_zone.within(lambda: UTC):
        return FORMS[form].make(document)
