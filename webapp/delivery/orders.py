"""People's actions on endpoints and deliveries; each records who and when."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext

from ingest.messages import message
from webapp.config import encryption
from webapp.delivery import endpoint_notices, outbox, signing
from webapp.delivery.choices import DeliveryState
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Delivery, Endpoint
from webapp.lib.refusals import ActionRefused

OLD_SECRET_WORKS = timedelta(hours=24)
MOST_REPLAYED = 10_000
ENDED = (DeliveryState.DELIVERED, DeliveryState.DEAD, DeliveryState.CANCELLED)


def rotate(endpoint: Endpoint, name: str, now: datetime) -> str:
    """A new secret, shown once; both sign for a day. Raises :class:`ActionRefused`."""
    if not FORMATS[endpoint.format].for_machines:
        raise ActionRefused(
            gettext("Weir has no secret for %(name)s, so it does not sign what it sends there.")
            % {"name": endpoint.name}
        )
    secret = signing.new_secret()
    with transaction.atomic():
        held = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        held.previous_secret_encrypted, held.previous_secret_until = (
            held.secret_encrypted,
            now + OLD_SECRET_WORKS,
        )
        held.secret_encrypted, held.changed_name = encryption.encrypt(secret), name[:200]
        held.save(
            update_fields=[
                "previous_secret_encrypted",
                "previous_secret_until",
                "secret_encrypted",
                "changed_name",
                "changed_at",
            ]
        )
    return secret


def enable(endpoint: Endpoint, name: str, now: datetime) -> None:
    """Enable it from now on; missed notices are replayed only on request."""
    good = {
        "failures": 0,
        "failing_since": None,
        "paused_until": None,
        "disabled_at": None,
        "disabled_reason": "",
    }
    Endpoint.objects.filter(pk=endpoint.pk).update(
        enabled=True, changed_name=name[:200], changed_at=now, **good
    )


def disable_by_hand(endpoint: Endpoint, name: str, now: datetime) -> None:
    why = {"disabled_at": now, "disabled_reason": message("Disabled by {name:name}.", name=name)}
    Endpoint.objects.filter(pk=endpoint.pk, enabled=True).update(
        enabled=False, changed_name=name[:200], changed_at=now, **why
    )


def request_test(endpoint: Endpoint, name: str, now: datetime) -> Delivery:
    """Send a test notice like any other: same sender, checks and log."""
    with transaction.atomic():
        return outbox.queue_for(endpoint_notices.test(endpoint, name, now), endpoint)


def replay(delivery: Delivery, name: str, now: datetime) -> None:
    """Send it once more, under the same id. Raises :class:`ActionRefused`."""
    if not delivery.endpoint.enabled and not delivery.mail_to:
        raise ActionRefused(
            gettext("%(name)s is disabled: enable it first.") % {"name": delivery.endpoint.name}
        )
    if not _replay({"pk": delivery.pk}, ENDED, name, now):
        raise ActionRefused(gettext("It is being sent already."))


def replay_range(
    since: datetime,
    until: datetime,
    states: Collection[str],
    name: str,
    now: datetime,
    endpoint: Endpoint | None = None,
) -> int:
    """Replay all of this state made in this range, at most 10,000; returns how many.

    Raises :class:`ActionRefused`.
    """
    if until <= since:
        raise ActionRefused(gettext("The end of the time has to be after its beginning."))
    if endpoint is not None and not endpoint.enabled:
        raise ActionRefused(
            gettext("%(name)s is disabled: enable it first.") % {"name": endpoint.name}
        )
    wanted: dict[str, Any] = {
        "made_at__gte": since,
        "made_at__lte": until,
        "endpoint__enabled": True,
        "mail_to": "",
    }
    if endpoint is not None:
        wanted["endpoint"] = endpoint
    deliveries = Delivery.objects.filter(
        state__in=[state for state in states if state in ENDED], **wanted
    ).exclude(kind="test")
    pks = list(deliveries.order_by("id").values_list("pk", flat=True)[: MOST_REPLAYED + 1])
    if len(pks) > MOST_REPLAYED:
        raise ActionRefused(
            gettext("These are more than %(most_replayed)s; choose a shorter time.")
            % {"most_replayed": f"{MOST_REPLAYED:,}"}
        )
    return _replay({"pk__in": pks}, states, name, now)


def _replay(which: dict[str, Any], states: Collection[str], name: str, now: datetime) -> int:
    again = {
        "state": DeliveryState.PENDING,
        "tries": 0,
        "next_attempt_at": now,
        "ended_at": None,
        "lease_until": None,
        "leased_by": "",
    }
    with transaction.atomic():
        count = Delivery.objects.filter(
            state__in=[state for state in states if state in ENDED], **which
        ).update(**again, replays=F("replays") + 1, replayed_at=now, replayed_by=name[:200])
        if count:
            transaction.on_commit(outbox.hint)
    return count
