from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from django.utils import translation

from webapp.delivery.choices import DeliveryState, FormatName
from webapp.delivery.formats.base import Addressee, Format, Outgoing, Rendered
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Delivery, DeliveryAlert
from webapp.delivery.notices import RESOLVED, Notice
from webapp.lib import shown_zone

MOST_LATER = 10
"""Later notices that are read; after an outage there may be many."""
LANGUAGE = "en"


class CannotRender(Exception):
    """A retry would not help."""


def format_of(row: Delivery) -> Format:
    return FORMATS[FormatName.EMAIL if row.mail_to else row.endpoint.format]


def remaining_news(row: Delivery) -> Notice | None:
    """The notice without alerts of which a later notice says that they are resolved; None if no
    news are left. A retry hours later would say that they fire, and PagerDuty would reopen them.
    Raises :class:`CannotRender`.
    """
    notice = _read(row)
    if row.kind == "test" or not row.fence:
        return notice
    later = Delivery.objects.filter(
        endpoint=row.endpoint_id, mail_to=row.mail_to, group=row.group, pk__gt=row.pk
    )
    if not format_of(row).keeps_state:
        states = (DeliveryState.PENDING, DeliveryState.DELIVERED)
        return _without_resolved(notice, later.filter(state__in=states))
    return None if later.filter(state=DeliveryState.DELIVERED).exists() else notice


def _read(row: Delivery) -> Notice:
    try:
        return row.notice
    except (ValueError, KeyError, TypeError) as error:
        raise CannotRender(f"The stored notice cannot be read ({type(error).__name__}).") from None


def _without_resolved(notice: Notice, later: QuerySet[Delivery]) -> Notice | None:
    fired = [alert.uid for alert in notice.alerts if alert.status != RESOLVED]
    same_alerts = DeliveryAlert.objects.filter(alert_uid__in=fired).values("delivery")
    resolved = set[str]()
    for row in later.filter(pk__in=same_alerts).order_by("-pk")[:MOST_LATER] if fired else ():
        with suppress(CannotRender):
            resolved |= {alert.uid for alert in _read(row).alerts if alert.status == RESOLVED}
    remaining = tuple(
        alert for alert in notice.alerts if alert.status == RESOLVED or alert.uid not in resolved
    )
    part = notice.of(remaining)
    return part if part.changed or not notice.changed else None


def render_delivery(row: Delivery, notice: Notice, at: datetime) -> Rendered:
    """In English and UTC. Raises :class:`CannotRender`."""
    with translation.override(LANGUAGE), shown_zone.within(lambda: UTC):
        return _render(row, notice, at)


def _render(row: Delivery, notice: Notice, at: datetime) -> Rendered:
    endpoint = row.endpoint
    try:
        to = Addressee(
            url=endpoint.url,
            message_id=row.uid,
            credential=endpoint.credential,
            secrets=endpoint.secrets_at(at),
            emails=(row.mail_to,) if row.mail_to else tuple(endpoint.emails),
        )
        outgoing = format_of(row).render(notice.without_secrets(), to, at)
    except ImproperlyConfigured as error:
        raise CannotRender(str(error)) from None
    except Exception as error:
        # One notice must not block the others. The text of the error may contain secrets.
        raise CannotRender(
            f"It cannot be written as {endpoint.format} ({type(error).__name__})."
        ) from error
    if isinstance(outgoing, Outgoing):
        return replace(outgoing, headers={**outgoing.headers, "x-request-id": request_id(row)})
    return outgoing


def request_id(row: Delivery) -> str:
    """Identifies the attempt in the log of the receiver."""
    return f"{row.uid}.{row.attempts + 1}"
