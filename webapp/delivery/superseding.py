"""Old news after newer: left out where the receiver would take it for the present state.

A delivery that failed and comes round again hours later still says that an alert fires. A person reads when it was
made; an Alertmanager or PagerDuty would open the alert anew.
"""

from dataclasses import replace

from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery, DeliveryAlert
from webapp.delivery.notices import Notice
from webapp.delivery.rendering import CannotRender, format_of


def still_news(row: Delivery) -> Notice | None:
    """The notice without what a later one contains; ``None`` where nothing is left. Raises :class:`CannotRender`."""
    try:
        notice = row.notice
    except (ValueError, KeyError, TypeError) as error:
        raise CannotRender(f"The stored notice cannot be read ({type(error).__name__}).") from None
    keeps = format_of(row).keeps_state
    if not keeps or row.kind == "test" or not row.fence:
        return notice
    later = Delivery.objects.filter(endpoint=row.endpoint_id, group=row.group, pk__gt=row.pk, state=DeliveryState.DELIVERED)
    if keeps == "group":
        return None if later.exists() else notice
    notified = set(DeliveryAlert.objects.filter(delivery__in=later).values_list("alert_uid", flat=True))
    left = tuple(alert for alert in notice.alerts if alert.uid not in notified)
    return replace(notice, alerts=left) if left else None
