"""Who was notified of alerts, how and when: the newest delivery to each receiver."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from webapp.delivery.badges import delivery_badge
from webapp.delivery.models import Delivery, DeliveryAlert
from webapp.lib.badges import Badge

MOST_DELIVERIES = 1_000


@dataclass(frozen=True)
class Notification:
    """The newest delivery to one receiver."""

    uid: str
    receiver: str
    at: datetime
    badge: Badge
    error: str


def notifications(subjects: Mapping[str, str]) -> dict[str, list[Notification]]:
    """Subject → to whom a notice of it went, the newest first; no entry where to nobody.

    ``subjects``: uid of an alert → of what it is, such as its incident. One query.
    """
    links = (
        DeliveryAlert.objects.filter(alert_uid__in=list(subjects))
        .select_related("delivery__endpoint")
        .defer("delivery__payload")
        .order_by("-delivery_id", "id")[:MOST_DELIVERIES]
    )
    newest: dict[str, dict[str, Notification]] = defaultdict(dict)
    for link in links:
        row: Delivery = link.delivery
        receiver = row.mail_to or row.endpoint.name
        newest[subjects[link.alert_uid]].setdefault(
            receiver,
            Notification(
                row.uid,
                receiver,
                row.ended_at or row.made_at,
                delivery_badge(row),
                row.last_error,
            ),
        )
    return {subject: list(of.values()) for subject, of in newest.items()}
