"""An entry is written before its write, and gets the outcome afterwards."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import DatabaseError, models, transaction
from django.http import HttpRequest
from django.utils import timezone

from ingest import log_lines
from webapp.accounts import client_address
from webapp.accounts.audit import entered_fields
from webapp.accounts.audit.actions import SIGN_IN, action_of, model_of
from webapp.accounts.models import ApiToken, AuditEntry

Outcome, Door = AuditEntry.Outcome, AuditEntry.Door
_BEGUN, _ENTERED, _CARRIED_OUT = "_audit_entry", "_audit_entered", "_audit_carried_out"
_LONGEST_SUBJECT = 300

logger = logging.getLogger(__name__)


def begin(
    request: HttpRequest, person: str, entered: Mapping[str, Any], token: ApiToken | None = None
) -> None:
    """Raises ``DatabaseError`` if the entry cannot be written: then the write is not done either."""
    if begun(request) is not None or request.resolver_match is None:
        return
    name, place = request.resolver_match.view_name, request.resolver_match.kwargs
    action = action_of(name, entered)
    row = _row(model_of(name, action), place)
    known = (
        {name: getattr(row, name) for name in entered_fields.ADDRESSES.get(action, ())}
        if row
        else {}
    )
    details = entered_fields.details({**known, **entered}, action)
    entry = AuditEntry.objects.create(
        at=timezone.now(),
        action=action,
        door=_door(request),
        person=person,
        token=str(token)[:120] if token else "",
        subject=(
            _name_of_row(row, place)
            or entered_fields.text(" ".join(map(str, place.values())))
            or entered_fields.subject(details)
        )[:_LONGEST_SUBJECT],
        details=details | ({"verb": entered_fields.text(place["verb"])} if "verb" in place else {}),
        **_whence(request),
    )
    setattr(request, _BEGUN, entry.pk)


def begun(request: HttpRequest) -> int | None:
    return getattr(request, _BEGUN, None)


def mark_carried_out(request: HttpRequest) -> None:
    """The request is done although it wrote nothing and shows its form again."""
    setattr(request, _CARRIED_OUT, True)


def was_carried_out(request: HttpRequest) -> bool:
    return getattr(request, _CARRIED_OUT, False)


def reads_later(request: HttpRequest, entered: Callable[[], Any]) -> None:
    """``entered`` is called at the end, when a view may have read the body of an API request."""
    setattr(request, _ENTERED, entered)


def end(request: HttpRequest, outcome: AuditEntry.Outcome, status: int) -> None:
    """If the outcome cannot be written, it stays unknown, and the log has the reason."""
    pk = begun(request)
    if pk is not None:
        entered: Any = getattr(request, _ENTERED, dict)()
        details = entered_fields.details(entered) if isinstance(entered, Mapping) else {}
        _note(
            lambda: AuditEntry.objects.end(
                pk, details, entered_fields.subject(details), outcome=outcome, status=status
            )
        )


def sign_in(
    request: HttpRequest,
    person: str,
    outcome: AuditEntry.Outcome,
    status: int,
    details: dict[str, str] | None = None,
) -> None:
    door = _door(request)
    entry = {"action": SIGN_IN, "door": door, "person": person}
    when = {"at": timezone.now(), "outcome": outcome, "status": status}
    _note(
        lambda: AuditEntry.objects.create(
            **entry, **when, details=details or {}, **_whence(request)
        )
    )


def _whence(request: HttpRequest) -> dict[str, str]:
    return {
        "from_address": client_address.written(request)[:45],
        "request_id": log_lines.request_id()[:64],
    }


def _door(request: HttpRequest) -> AuditEntry.Door:
    return Door.API if request.path_info.startswith("/api/") else Door.PAGE


def _row(model: str, parameters: Mapping[str, Any]) -> models.Model | None:
    by = next((name for name in ("pk", "uid", "name") if name in parameters), None)
    if not model or by is None or "\x00" in str(parameters[by]):
        return None
    with suppress(ValueError, TypeError, ValidationError, OverflowError):
        rows = apps.get_model(model)._default_manager.filter(**{by: parameters[by]})
        row: models.Model | None = rows.first()
        return row
    return None


def _name_of_row(row: models.Model | None, parameters: Mapping[str, Any]) -> str:
    return entered_fields.text(
        f"{row} (#{row.pk})" if row is not None and "pk" in parameters else row
    )


def _note(write: Any) -> None:
    try:
        with transaction.atomic():
            write()
    except DatabaseError:
        logger.exception("the audit log could not be written")
