"""The newest delivery of alerts to each receiver."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from webapp.delivery.badges import delivery_badge
from webapp.delivery.models import Delivery, DeliveryAlert
from webapp.lib.badges import Badge


@dataclass(frozen=True)
class Notification:
    uid: str
    receiver: str
    at: datetime
    badge: Badge
    error: str


def notifications(subjects: Mapping[str, str]) -> dict[str, list[Notification]]:
    """Subject → newest delivery to each receiver, newest first. ``subjects``: uid of an alert →
    subject, such as its incident. Two queries.
    """
    links = DeliveryAlert.objects.filter(alert_uid__in=list(subjects)).order_by()
    newest: dict[tuple[str, int, str], int] = {}
    for uid, endpoint, mail_to, pk in links.values_list(
        "alert_uid", "delivery__endpoint", "delivery__mail_to"
    ).annotate(Max("delivery")):
        key = subjects[uid], endpoint, mail_to
        newest[key] = max(newest.get(key, 0), pk)
    deliveries = (
        Delivery.objects.filter(pk__in=set(newest.values()))
        .select_related("endpoint")
        .defer("payload")
        .in_bulk()
    )
    notified: dict[str, list[Notification]] = defaultdict(list)
    for (subject, _, _), pk in sorted(newest.items(), key=lambda item: -item[1]):
        if row := deliveries.get(pk):
            notified[subject].append(
                Notification(
                    row.uid,
                    row.mail_to or row.endpoint.name,
                    row.ended_at or row.made_at,
                    delivery_badge(row),
                    row.last_error,
                )
            )
    return dict(notified)
