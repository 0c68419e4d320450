"""An audit entry is stored before the write that it describes, and gets the outcome afterwards."""

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
_ENTRY_KEY, _READ_ENTERED, _CARRIED_OUT = "_audit_entry", "_audit_entered", "_audit_carried_out"
_LONGEST_SUBJECT = 300

logger = logging.getLogger(__name__)


def begin(
    request: HttpRequest, person: str, entered: Mapping[str, Any], token: ApiToken | None = None
) -> None:
    """Raises ``DatabaseError``, so that a write without an entry does not happen."""
    if entry_key(request) is not None or request.resolver_match is None:
        return
    url_name, parameters = request.resolver_match.view_name, request.resolver_match.kwargs
    action = action_of(url_name, entered)
    row = _row(model_of(url_name, action), parameters)
    address_fields = entered_fields.ADDRESSES.get(action, ()) if row else ()
    stored_addresses = {name: getattr(row, name) for name in address_fields}
    details = entered_fields.details({**stored_addresses, **entered}, action)
    if "verb" in parameters:
        details["verb"] = entered_fields.text(parameters["verb"])
    row_name = f"{row} (#{row.pk})" if row is not None and "pk" in parameters else row
    entry = AuditEntry.objects.create(
        at=timezone.now(),
        action=action,
        door=_door(request),
        person=person,
        token=str(token)[:120] if token else "",
        subject=(
            entered_fields.text(row_name)
            or entered_fields.text(" ".join(map(str, parameters.values())))
            or entered_fields.subject(details)
        )[:_LONGEST_SUBJECT],
        details=details,
        **_origin(request),
    )
    setattr(request, _ENTRY_KEY, entry.pk)


def entry_key(request: HttpRequest) -> int | None:
    return getattr(request, _ENTRY_KEY, None)


def mark_carried_out(request: HttpRequest) -> None:
    """For a request that succeeds, but writes nothing and shows its form again."""
    setattr(request, _CARRIED_OUT, True)


def was_carried_out(request: HttpRequest) -> bool:
    return getattr(request, _CARRIED_OUT, False)


def read_at_end(request: HttpRequest, read_entered: Callable[[], Any]) -> None:
    """:func:`end` calls ``read_entered`` to read the body of an API request after the view."""
    setattr(request, _READ_ENTERED, read_entered)


def end(request: HttpRequest, outcome: AuditEntry.Outcome, status: int) -> None:
    """If the outcome cannot be stored, it stays unknown, and the log has the reason."""
    pk = entry_key(request)
    if pk is not None:
        entered: Any = getattr(request, _READ_ENTERED, dict)()
        details = entered_fields.details(entered) if isinstance(entered, Mapping) else {}
        _write_or_log(
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
    _write_or_log(
        lambda: AuditEntry.objects.create(
            at=timezone.now(),
            action=SIGN_IN,
            door=_door(request),
            person=person,
            outcome=outcome,
            status=status,
            details=details or {},
            **_origin(request),
        )
    )


def _origin(request: HttpRequest) -> dict[str, str]:
    return {
        "from_address": client_address.text_of(request)[:45],
        "request_id": log_lines.request_id()[:64],
    }


def _door(request: HttpRequest) -> AuditEntry.Door:
    return Door.API if request.path_info.startswith("/api/") else Door.PAGE


def _row(model: str, parameters: Mapping[str, Any]) -> models.Model | None:
    key = next((name for name in ("pk", "uid", "name") if name in parameters), None)
    if not model or key is None or "\x00" in str(parameters[key]):
        return None
    with suppress(ValueError, TypeError, ValidationError, OverflowError):
        rows = apps.get_model(model)._default_manager.filter(**{key: parameters[key]})
        row: models.Model | None = rows.first()
        return row
    return None


def _write_or_log(write: Callable[[], Any]) -> None:
    try:
        with transaction.atomic():
            write()
    except DatabaseError:
        logger.exception("the audit log could not be written")
