"""A write that the database refuses, because it is read-only or its disk is full, is answered with what is the matter."""

import sqlite3
import sys

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext

from ingest import log_lines
from webapp.lib.api.errors import plain_error
from webapp.lib.api.json_errors import PREFIX
from webapp.lib.translations import gettext_lazy as _

READ_ONLY = _("The database is read-only.")
FULL = _("The disk of the database is full.")
RETRY_AFTER_S = "60"
_BY_STATE = {"25006": READ_ONLY, "53100": FULL}
"""SQLSTATE of PostgreSQL → sentence: read_only_sql_transaction, disk_full."""
_BY_CODE = {sqlite3.SQLITE_READONLY: READ_ONLY, sqlite3.SQLITE_FULL: FULL}
_PRIMARY = 0xFF
"""Extended result codes of SQLite keep the primary one in their lowest byte."""


def why_refused(error: BaseException | None) -> str:
    """A sentence; "" for every other error."""
    cause = error.__cause__ if isinstance(error, DatabaseError) else None
    if isinstance(cause, sqlite3.Error):
        return _BY_CODE.get(getattr(cause, "sqlite_errorcode", 0) & _PRIMARY, "")
    return _BY_STATE.get(getattr(cause, "sqlstate", None) or "", "")


def failed(request: HttpRequest) -> HttpResponse:
    """Django's ``handler500``, called while the error is handled."""
    why = why_refused(sys.exc_info()[1])
    if not why:
        return render(None, "500.html", {"request_id": log_lines.request_id()}, status=500)
    if request.path_info.startswith(PREFIX):
        answer: HttpResponse = JsonResponse(plain_error("not_writable", gettext("%(why)s Nothing was changed.") % {"why": why}), status=503)
    else:
        answer = render(None, "503.html", {"why": why, "request_id": log_lines.request_id()}, status=503)
    answer["Retry-After"] = RETRY_AFTER_S
    return answer
