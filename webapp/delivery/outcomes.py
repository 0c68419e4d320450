"""Stores what an answer means for the delivery and its endpoint, under the fence of the claim."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from ingest.redaction.texts import redact
from webapp.delivery import endpoint_notices, mail, outbox, retries
from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Attempt, Delivery, Endpoint
from webapp.delivery.network import Answer
from webapp.delivery.rendering import format_of

GONE = 410
LONGEST_EXCERPT = 4 << 10
SUPERSEDED = "superseded"
FINAL = ("not_rendered",)
"""After these errors a retry would fail, too."""


def failure_of(row: Delivery, answer: Answer) -> str:
    """Code of the error; "" if the receiver accepted the notice."""
    if answer.error:
        return answer.error
    if answer.status is None or not 200 <= answer.status < 300:
        is_redirect = answer.status and 300 <= answer.status < 400
        return "redirect" if is_redirect else f"status_{answer.status}"
    return format_of(row).refused(answer.body)


def record_all(answers: Iterable[tuple[Delivery, Answer]], now: datetime) -> list[str]:
    with transaction.atomic():
        return [record(row, answer, now) for row, answer in answers]


def record(row: Delivery, answer: Answer, now: datetime) -> str:
    """Returns ``delivered``, ``again``, ``dead``, ``cancelled``, or ``overtaken`` if another
    process claimed the row.
    """
    failure = failure_of(row, answer)
    asked = failure and (answer.retry_after or format_of(row).pause_in(answer.body))
    pause = retries.pause_of(asked, now) if asked else None
    next_attempt_at = None
    if failure not in FINAL and answer.status != GONE:
        next_attempt_at = retries.next_attempt(row.tries + 1, now, pause)
    if failure == SUPERSEDED:
        state = DeliveryState.CANCELLED
    elif not failure:
        state = DeliveryState.DELIVERED
    else:
        state = DeliveryState.PENDING if next_attempt_at else DeliveryState.DEAD
    with transaction.atomic(savepoint=False):
        claimed = Delivery.objects.pending().filter(pk=row.pk, fence=row.fence)
        changed = claimed.update(
            state=state,
            lease_until=None,
            leased_by="",
            tries=F("tries") + 1,
            attempts=F("attempts") + 1,
            next_attempt_at=next_attempt_at or now,
            ended_at=None if state == DeliveryState.PENDING else now,
            last_error=(f"{failure}: {answer.detail}" if answer.detail else failure)[:300],
        )
        if not changed:
            return "overtaken"
        _store_attempt(row, answer, failure, now)
        if failure == SUPERSEDED or failure in FINAL:
            return str(state)
        if failure:
            _count_failure(row, answer, pause, now, is_last=next_attempt_at is None)
        else:
            Endpoint.objects.filter(pk=row.endpoint_id).update(
                failures=0, failing_since=None, paused_until=None, last_delivered_at=now
            )
    return "again" if state == DeliveryState.PENDING else str(state)


def give_up_disabled(now: datetime) -> int:
    """Pending deliveries to disabled endpoints become dead; returns how many."""
    waiting = (
        Delivery.objects.pending()
        .filter(endpoint__enabled=False, lease_until__isnull=True)
        .exclude(kind__in=("test", "endpoint_disabled"))
    )
    pks = list(waiting.values_list("pk", flat=True))
    return (
        Delivery.objects.pending()
        .filter(pk__in=pks, lease_until__isnull=True)
        .update(state=DeliveryState.DEAD, ended_at=now, last_error="endpoint_disabled")
    )


def _store_attempt(row: Delivery, answer: Answer, failure: str, now: datetime) -> None:
    Attempt.objects.create(
        delivery_id=row.pk,
        number=row.attempts + 1,
        at=now - timedelta(milliseconds=answer.latency_ms),
        status=answer.status,
        error=failure[:64],
        detail=answer.detail[:300],
        latency_ms=answer.latency_ms,
        response=excerpt(answer.body, _secrets_of(row, now)),
    )


def _count_failure(
    row: Delivery, answer: Answer, pause: timedelta | None, now: datetime, *, is_last: bool
) -> None:
    endpoint = Endpoint.objects.filter(pk=row.endpoint_id)
    if row.mail_to:
        return  # the mail server failed, not the endpoint
    endpoint.update(failures=F("failures") + 1, failing_since=Coalesce(F("failing_since"), now))
    if pause:
        endpoint.update(paused_until=now + pause)
    if answer.status == GONE:
        _disable(row.endpoint_id, "It answered 410 Gone: it wants no more notices.", now)
        return
    since = endpoint.values_list("failing_since", flat=True).first()
    if is_last and since and now - since >= retries.GIVEN_UP_AFTER:
        _disable(
            row.endpoint_id,
            (
                f"It took nothing since {since:%Y-%m-%d %H:%M} UTC, and a notice used up all its "
                "attempts."
            ),
            now,
        )


def _disable(pk: int, reason: str, now: datetime) -> None:
    if not Endpoint.objects.filter(pk=pk, enabled=True).update(
        enabled=False, disabled_at=now, disabled_reason=reason
    ):
        return
    endpoint = Endpoint.objects.get(pk=pk)
    if endpoint.owner_email and mail.is_configured():
        outbox.queue_for(
            endpoint_notices.disabled(endpoint, reason, now), endpoint, mail_to=endpoint.owner_email
        )


def excerpt(body: bytes, secrets: Iterable[str]) -> str:
    """The first 4 KiB as text, without ``secrets``, which a receiver may send back."""
    text = body[:LONGEST_EXCERPT].decode(errors="replace").replace("\x00", "�")
    for secret in secrets:
        text = text.replace(secret, "***")
    return redact(text)


def _secrets_of(row: Delivery, now: datetime) -> list[str]:
    endpoint = row.endpoint
    url = endpoint.url
    path = url.partition("://")[2].partition("/")[2]
    secrets = [
        url,
        path,
        *re.split(r"[/?&=:]", path),
        endpoint.credential,
        *endpoint.secrets_at(now),
    ]
    return sorted({text for text in secrets if len(text) >= 8}, key=len, reverse=True)
