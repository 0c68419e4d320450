from ingest.messages import message
from webapp.reports import document_json
from webapp.reports.choices import ReportState
from webapp.reports.document import Report
from webapp.reports.models import IncidentReport
from webapp.reports.renderers.files import ENGLISH, rendered


class Gone(Exception):
    """There is no such file; the message says why."""


def document_of(report: IncidentReport) -> Report | None:
    """``None`` if the report is not made, or if this version of Weir cannot read it."""
    if report.state != ReportState.DONE or report.document is None:
        return None
    try:
        return document_json.from_plain(report.document)
    except (document_json.UnknownVersion, TypeError, KeyError, ValueError):
        return None


def content(report: IncidentReport, form: str, language: str = ENGLISH) -> bytes:
    """The content of a file; HTML is in ``language``. Raises :class:`Gone`."""
    if report.state != ReportState.DONE:
        raise Gone(message("This report is not made yet."))
    document = document_of(report)
    if document is None:
        raise Gone(message("Another version of Weir made this report."))
    return rendered(document, form, language if form == "html" else ENGLISH)
