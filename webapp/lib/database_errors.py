"""Responses to database errors, with the cause as one sentence."""

import logging
import sqlite3
import sys
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext

from ingest import log_lines
from webapp.config.damaged_database import is_damaged, primary_code, repair_advice
from webapp.lib.api.errors import plain_error
from webapp.lib.api.json_errors import PREFIX
from webapp.lib.translations import gettext_lazy as _

logger = logging.getLogger(__name__)

READ_ONLY = _("The database is read-only.")
FULL = _("The disk of the database is full.")
DATA_IS_SAFE = (
    "What was collected so far is kept; once it answers again, collecting resumes where it stopped."
)
RETRY_AFTER_S, AWAY_RETRY_AFTER_S = "60", "5"
_BY_STATE = {"25006": READ_ONLY, "53100": FULL}
"""SQLSTATE: read_only_sql_transaction, disk_full."""
_BY_CODE = {sqlite3.SQLITE_READONLY: READ_ONLY, sqlite3.SQLITE_FULL: FULL}
SILENT = _("It answers no query.")
UNREACHABLE = _("No connection to it can be made.")
STARTS_OR_STOPS = _("It is being started or stopped.")
_AWAY_BY_STATE = {
    "57P01": STARTS_OR_STOPS,
    "57P02": STARTS_OR_STOPS,
    "57P03": STARTS_OR_STOPS,
    "53300": _("It takes no more connections."),
}
"""SQLSTATE: admin_shutdown, crash_shutdown, cannot_connect_now, too_many_connections."""
_AWAY_BY_CODE = {
    sqlite3.SQLITE_CANTOPEN: _("Its file is not there, or cannot be opened."),
    sqlite3.SQLITE_BUSY: _("Its file is locked by another process."),
}
_CONNECTION_EXCEPTION = "08"


def why_refused(error: BaseException | None) -> str:
    """Why the database refused to write, as a sentence; "" for other errors."""
    cause = error.__cause__ if isinstance(error, DatabaseError) else None
    if isinstance(cause, sqlite3.Error):
        return _BY_CODE.get(primary_code(cause), "")
    return _BY_STATE.get(getattr(cause, "sqlstate", None) or "", "")


def why_away(error: BaseException | None) -> str:
    """Why the database does not answer, as a sentence; "" for other errors."""
    if not isinstance(error, OperationalError):
        return ""
    if isinstance(cause := error.__cause__, sqlite3.Error):
        return why_file_is_away(cause)
    # A failed connection has no SQLSTATE; errors of Django itself lack the attribute.
    state = getattr(cause, "sqlstate", "")
    if state is None or state.startswith(_CONNECTION_EXCEPTION):
        return UNREACHABLE
    return _AWAY_BY_STATE.get(state, "")


def why_file_is_away(error: sqlite3.Error) -> str:
    return _AWAY_BY_CODE.get(primary_code(error), "")


def failed(request: HttpRequest) -> HttpResponse:
    """The response to the error that is being handled."""
    error = sys.exc_info()[1]
    if why := why_refused(error):
        message = gettext("%(why)s Nothing was changed.") % {"why": why}
        return _unavailable(
            request, "not_writable", message, RETRY_AFTER_S, "503.html", {"why": why}
        )
    if error is not None and is_damaged(error):
        logger.error("%s", repair_advice(error))
        file = Path(settings.DATABASES["default"]["NAME"]).name
        return _unavailable(
            request,
            "database_damaged",
            f"The database file {file} is damaged; Weir's log says what to do.",
            RETRY_AFTER_S,
            "database_damaged.html",
            {"file": file},
        )
    if why := why_away(error):
        return away(request, why)
    return render(None, "500.html", {"request_id": log_lines.request_id()}, status=500)


def away(request: HttpRequest, why: str) -> HttpResponse:
    """The page reloads itself until the database is back, unless it was the answer to a form."""
    context = {"why": why, "reload_after_s": AWAY_RETRY_AFTER_S if request.method == "GET" else ""}
    message = f"The database does not answer. {why} {DATA_IS_SAFE}"
    return _unavailable(
        request, "database_away", message, AWAY_RETRY_AFTER_S, "database_away.html", context
    )


def _unavailable(
    request: HttpRequest,
    code: str,
    message: str,
    retry_after_s: str,
    template: str,
    context: dict[str, str],
) -> HttpResponse:
    answer: HttpResponse
    if request.path_info.startswith(PREFIX):
        answer = JsonResponse(plain_error(code, message), status=503)
    else:
        answer = HttpResponse(render_to_string(template, context), status=503)
    answer["Retry-After"] = retry_after_s
    return answer
