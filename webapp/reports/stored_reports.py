"""What is kept of a report that was made: its document, and its files or the same made again from
it.
"""

from dataclasses import dataclass

from ingest.messages import message
from webapp.reports import document_json
from webapp.reports.choices import ReportState
from webapp.reports.document import Report
from webapp.reports.folder import ReportFolder
from webapp.reports.models import IncidentReport
from webapp.reports.renderers.files import BY_LANGUAGE, ENGLISH, FORMS, rendered


class Gone(Exception):
    """There is no such file; the message says why."""


@dataclass(frozen=True)
class Available:
    """``why_not`` says why a form cannot be had."""

    form: str
    title: str
    why_not: str = ""


def document_of(report: IncidentReport) -> Report | None:
    """``None`` until it is made, and where another version of Weir made it and this one cannot read
    it.
    """
    if report.state != ReportState.DONE or report.document is None:
        return None
    try:
        return document_json.from_plain(report.document)
    except (document_json.UnknownVersion, TypeError, KeyError, ValueError):
        return None


def content(report: IncidentReport, form: str, language: str = ENGLISH) -> bytes:
    """As it was kept, else made from its document, except a PDF: that takes a browser. Raises
    :class:`Gone`.

    What was kept is English; in another language what people read is made from the document, where
    this version can read it.
    """
    if report.state != ReportState.DONE:
        raise Gone(message("This report is not made yet."))
    if language != ENGLISH and form in BY_LANGUAGE and (stored := document_of(report)) is not None:
        return rendered(stored, form, language)
    file_content = ReportFolder(report.uid).read(form)
    if file_content is not None:
        return file_content
    if form == "pdf":
        raise Gone(report.without_pdf or message("The PDF is not on this machine."))
    document = document_of(report)
    if document is None:
        raise Gone(
            message("The files of this report are gone, and another version of Weir made it.")
        )
    return rendered(document, form)


def forms_of(report: IncidentReport) -> list[Available]:
    has_pdf = ReportFolder(report.uid).has("pdf")
    why_not = "" if has_pdf else report.without_pdf or message("The PDF is not on this machine.")
    return [
        Available(form, known.title, why_not if form == "pdf" else "")
        for form, known in FORMS.items()
    ]
