from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from ingest.messages import message
from webapp.config import encryption
from webapp.delivery import endpoint_notices, outbox, signing
from webapp.delivery.choices import DeliveryState
from webapp.delivery.endpoint_entry import SECRET_FIELDS
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Delivery, Endpoint
from webapp.lib.refusals import ActionRefused

OLD_SECRET_WORKS = timedelta(hours=24)
MOST_REPLAYED = 10_000
ENDED = (DeliveryState.DELIVERED, DeliveryState.DEAD, DeliveryState.CANCELLED)


def rotate(endpoint: Endpoint, now: datetime) -> str:
    """Returns a new secret; for a day the old one also signs. Raises :class:`ActionRefused`."""
    if not FORMATS[endpoint.format].for_machines:
        raise ActionRefused(
            gettext("Weir has no secret for %(name)s, so it does not sign what it sends there.")
            % {"name": endpoint.name}
        )
    secret = signing.new_secret()
    with transaction.atomic():
        row = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        row.previous_secret_encrypted = row.secret_encrypted
        row.previous_secret_until = now + OLD_SECRET_WORKS
        row.secret_encrypted = encryption.encrypt(secret)
        row.save(update_fields=SECRET_FIELDS)
    return secret


def enable(endpoint: Endpoint) -> None:
    """Does not replay missed notices."""
    Endpoint.objects.filter(pk=endpoint.pk).update(
        enabled=True,
        failures=0,
        failing_since=None,
        paused_until=None,
        disabled_at=None,
        disabled_reason="",
    )


def disable_by_hand(endpoint: Endpoint, name: str, now: datetime) -> None:
    Endpoint.objects.filter(pk=endpoint.pk, enabled=True).update(
        enabled=False,
        disabled_at=now,
        disabled_reason=message("Disabled by {name:name}.", name=name),
    )


def request_test(endpoint: Endpoint, name: str, now: datetime) -> Delivery:
    with transaction.atomic():
        return outbox.queue_for(endpoint_notices.test(endpoint, name, now), endpoint)


def replay(delivery: Delivery, now: datetime) -> None:
    """Sends the delivery again, with the same id. Raises :class:`ActionRefused`."""
    if not delivery.mail_to:
        _require_enabled(delivery.endpoint)
    if not _replay(Delivery.objects.filter(pk=delivery.pk, state__in=ENDED), now):
        raise ActionRefused(gettext("It is being sent already."))


def replay_dead(endpoint: Endpoint, now: datetime) -> int:
    """Replays the oldest 10,000 dead deliveries, without alerts that were resolved since; returns
    how many. Raises :class:`ActionRefused`.
    """
    _require_enabled(endpoint)
    dead = Delivery.objects.filter(endpoint=endpoint, state=DeliveryState.DEAD, mail_to="")
    oldest = dead.exclude(kind="test").order_by("id").values_list("pk", flat=True)
    pks = list(oldest[:MOST_REPLAYED])
    return _replay(Delivery.objects.filter(pk__in=pks, state=DeliveryState.DEAD), now)


def _require_enabled(endpoint: Endpoint) -> None:
    if not endpoint.enabled:
        raise ActionRefused(
            gettext("%(name)s is disabled: enable it first.") % {"name": endpoint.name}
        )


def _replay(ended: QuerySet[Delivery], now: datetime) -> int:
    with transaction.atomic():
        count = ended.update(
            state=DeliveryState.PENDING,
            tries=0,
            next_attempt_at=now,
            ended_at=None,
            lease_until=None,
            leased_by="",
        )
        if count:
            transaction.on_commit(outbox.hint)
    return count
