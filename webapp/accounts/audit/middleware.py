"""Creates an audit entry for every write of a page and every sign-in attempt."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.messages import constants
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone

from webapp.accounts import client_address, rate_limit
from webapp.accounts.audit import entered_fields, entries
from webapp.accounts.audit.actions import SIGN_IN, action_of
from webapp.accounts.models import AuditEntry, User
from webapp.lib.api.json_errors import PREFIX
from webapp.lib.middleware import Middleware

logger = logging.getLogger(__name__)

READ_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
BLOCKED_ENTRY_EVERY = timedelta(minutes=15)
_WRITE_STATEMENTS = ("INSERT", "UPDATE", "DELETE")
_UNCOUNTED_TABLES = ('"django_session"', '"accounts_signinfailures"', '"accounts_auditentry"')
Outcome = AuditEntry.Outcome


class AuditLog(Middleware):
    """Comes after the sign-in check, so that anonymous requests fill no table."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method in READ_METHODS:
            response = self.get_response(request)
            if _has_signed_in(request):  # by OpenID Connect, which comes back with a GET
                _note_sign_in(request, response)
            return response
        writes: list[str] = []
        with connection.execute_wrapper(_recording_writes(writes)):
            response = self.get_response(request)
        if entries.entry_key(request) is not None:
            entries.end(request, _outcome(request, response, bool(writes)), response.status_code)
        elif _is_sign_in(request) and (
            _has_signed_in(request) or not request.user.is_authenticated
        ):
            _note_sign_in(request, response)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """API writes begin in :class:`webapp.accounts.permissions.ScopedAccess`, after
        authentication.
        """
        is_api = request.path_info.startswith(PREFIX)
        if (
            request.method in READ_METHODS
            or is_api
            or not request.user.is_authenticated
            or _is_sign_in(request)
        ):
            return None
        if wait_s := rate_limit.seconds_to_wait(request.user.pk, None):
            text = f"Too many requests in this minute. Try again in {wait_s} seconds.\n"
            return HttpResponse(
                text,
                status=429,
                content_type="text/plain; charset=utf-8",
                headers={"Retry-After": str(wait_s)},
            )
        entries.begin(request, request.user.get_username(), request.POST.dict())
        return None


def _recording_writes(writes: list[str]) -> Callable[..., Any]:
    def record(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(_WRITE_STATEMENTS) and not any(
            table in sql for table in _UNCOUNTED_TABLES
        ):
            writes.append(sql)
        return execute(sql, params, many, context)

    return record


def _outcome(request: HttpRequest, response: HttpResponseBase, has_written: bool) -> Outcome:
    if response.status_code >= 500:
        return Outcome.FAILED
    if response.status_code >= 400:
        return Outcome.REFUSED
    if request.path_info.startswith(PREFIX) or has_written or entries.was_carried_out(request):
        return Outcome.DONE
    queued_messages = getattr(getattr(request, "_messages", None), "_queued_messages", ())
    was_refused = response.status_code == 200 or any(
        message.level >= constants.ERROR for message in queued_messages
    )
    return Outcome.REFUSED if was_refused else Outcome.DONE


def _is_sign_in(request: HttpRequest) -> bool:
    match = request.resolver_match
    return match is not None and action_of(match.view_name) == SIGN_IN


def _has_signed_in(request: HttpRequest) -> bool:
    return getattr(request, "has_signed_in", False)


def _note_sign_in(request: HttpRequest, response: HttpResponseBase) -> None:
    """If the database is away, a refused attempt still gets its usual response."""
    try:
        _store_sign_in(request, response)
    except DatabaseError:
        logger.exception("the audit log could not be written")


def _store_sign_in(request: HttpRequest, response: HttpResponseBase) -> None:
    """A name that no user has is not recorded: it may be a password in the wrong field."""
    entered = request.POST.get("username", "")[:150].replace("\x00", "")
    if _has_signed_in(request):
        entries.sign_in(request, request.user.get_username(), Outcome.DONE, response.status_code)
        return
    users = User.objects.filter(username=entered)
    user_name = users.values_list("username", flat=True).first() or ""
    details = {} if user_name else {"username": "of nobody"}
    if getattr(request, "sign_in_blocked", False):
        details["blocked"] = "too many failed attempts"
        if _has_recent_entry(request, user_name):
            return
    entries.sign_in(
        request,
        user_name,
        Outcome.REFUSED,
        response.status_code,
        {name: entered_fields.text(text) for name, text in details.items()},
    )


def _has_recent_entry(request: HttpRequest, person: str) -> bool:
    recent = AuditEntry.objects.filter(
        action=SIGN_IN, at__gte=timezone.now() - BLOCKED_ENTRY_EVERY, details__has_key="blocked"
    )
    return recent.filter(person=person, from_address=client_address.text_of(request)).exists()
