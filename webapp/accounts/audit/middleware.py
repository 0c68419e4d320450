"""One entry for every write of a page and every sign-in attempt; those of the API begin in their
permission.
"""

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

logger = logging.getLogger(__name__)

READING = ("GET", "HEAD", "OPTIONS", "TRACE")
BLOCKED_ONCE_IN = timedelta(minutes=15)
_WRITING = ("INSERT", "UPDATE", "DELETE")
_VISITS = ('"django_session"', '"accounts_signinfailures"', '"accounts_auditentry"')
Outcome = AuditEntry.Outcome


class AuditLog:
    """Behind the sign-in check, so that anonymous requests fill no table."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method in READING:
            response = self.get_response(request)
            if _has_signed_in(request):  # led back by a provider of identities
                _note_sign_in(request, response)
            return response
        written: list[bool] = []
        with connection.execute_wrapper(_watching(written)):
            response = self.get_response(request)
        if entries.begun(request) is not None:
            entries.end(request, _outcome(request, response, bool(written)), response.status_code)
        elif _is_sign_in(request) and (
            _has_signed_in(request) or not request.user.is_authenticated
        ):
            _note_sign_in(request, response)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """API requests are authenticated later: see
        :class:`webapp.accounts.permissions.ScopedAccess`.
        """
        is_api = request.path_info.startswith(PREFIX)
        if (
            request.method in READING
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


def _watching(written: list[bool]) -> Callable[..., Any]:
    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(_WRITING) and not any(table in sql for table in _VISITS):
            written.append(True)
        return execute(sql, params, many, context)

    return watch


def _outcome(request: HttpRequest, response: HttpResponseBase, has_written: bool) -> Outcome:
    if response.status_code >= 500:
        return Outcome.FAILED
    if response.status_code >= 400:
        return Outcome.REFUSED
    if request.path_info.startswith(PREFIX) or has_written or entries.was_carried_out(request):
        return Outcome.DONE
    queued = getattr(getattr(request, "_messages", None), "_queued_messages", ())
    was_refused = response.status_code == 200 or any(
        message.level >= constants.ERROR for message in queued
    )
    return Outcome.REFUSED if was_refused else Outcome.DONE


def _is_sign_in(request: HttpRequest) -> bool:
    match = request.resolver_match
    return match is not None and action_of(match.view_name) == SIGN_IN


def _has_signed_in(request: HttpRequest) -> bool:
    return getattr(request, "has_signed_in", False)


def _note_sign_in(request: HttpRequest, response: HttpResponseBase) -> None:
    """A database that is away must not turn a refused attempt into an error."""
    try:
        _attempt(request, response)
    except DatabaseError:
        logger.exception("the audit log could not be written")


def _attempt(request: HttpRequest, response: HttpResponseBase) -> None:
    """A name of no user is not recorded: it may be a password in the wrong field."""
    given = request.POST.get("username", "")[:150].replace("\x00", "")
    if _has_signed_in(request):
        entries.sign_in(request, request.user.get_username(), Outcome.DONE, response.status_code)
        return
    known = User.objects.filter(username=given).values_list("username", flat=True).first()
    details = {} if known else {"username": "of nobody"}
    if getattr(request, "sign_in_blocked", False):
        details["blocked"] = "too many failed attempts"
        if _was_noted(request, known or ""):
            return
    entries.sign_in(
        request,
        known or "",
        Outcome.REFUSED,
        response.status_code,
        {name: entered_fields.text(text) for name, text in details.items()},
    )


def _was_noted(request: HttpRequest, person: str) -> bool:
    recent = AuditEntry.objects.filter(
        action=SIGN_IN, at__gte=timezone.now() - BLOCKED_ONCE_IN, details__has_key="blocked"
    )
    return recent.filter(person=person, from_address=client_address.written(request)).exists()
