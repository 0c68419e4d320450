"""The notice of an alert as it was last sent, or as it would be sent now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils import translation

from webapp.alerting.models import Alert
from webapp.alerting.notifications import notice_of
from webapp.delivery.formats.email import text_of
from webapp.delivery.models import Delivery, Endpoint
from webapp.delivery.notices import FIRING, RESOLVED, Notice
from webapp.delivery.outbox import part_for, selection_of
from webapp.delivery.rendering import LANGUAGE
from webapp.lib import scopes, shown_zone


@dataclass(frozen=True)
class NoticeText:
    """``sent``: None for a preview."""

    text: str
    sent: Delivery | None
    receivers: Sequence[str]


def notice_text(alert: Alert, deliveries: Sequence[Delivery], now: datetime) -> NoticeText | None:
    """``deliveries``: newest first. The text has no alerts of clusters that the viewer does not
    see. None if the sent notice cannot be read.
    """
    if not deliveries:
        kind = FIRING if alert.is_open else RESOLVED
        with translation.override(LANGUAGE), shown_zone.within(lambda: UTC):
            notice = notice_of(alert.group, kind, [alert], now)
        # Only viewers of the whole fleet see endpoints.
        sees_endpoints = scopes.current().is_everything
        endpoints = Endpoint.objects.filter(enabled=True).order_by("name") if sees_endpoints else ()
        receivers = [
            endpoint.name
            for endpoint in endpoints
            if part_for(notice, selection_of(endpoint)) is not None
        ]
        return NoticeText(_text(notice), None, receivers)
    sent = Delivery.objects.select_related("endpoint").get(pk=deliveries[0].pk)
    try:
        return NoticeText(_text(sent.notice), sent, [sent.mail_to or sent.endpoint.name])
    except (ValueError, KeyError, TypeError):
        return None


def _text(notice: Notice) -> str:
    visible = tuple(alert for alert in notice.alerts if scopes.current().holds(alert.cluster))
    with translation.override(LANGUAGE), shown_zone.within(lambda: UTC):
        return text_of(notice.without_secrets().of(visible, are_chosen=True))
