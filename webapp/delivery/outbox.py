import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from webapp.config import schedule
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Delivery, DeliveryAlert, Endpoint
from webapp.delivery.notices import Notice, NoticeAlert
from webapp.delivery.retries import LONGEST_PAUSE
from webapp.delivery.titles import title_of
from webapp.findings.choices import SEVERITY_RANK
from webapp.lib.labels import matched_labels
from webapp.lib.matchers import BadMatcher, Matcher, match_all, match_each
from webapp.lib.uids import new_uid
from webapp.work import hints
from webapp.work.models import CLOCK_SLACK

logger = logging.getLogger(__name__)

KEY = "delivery/send"
REPEATED = "repeat"
_RANK: dict[str, int] = {severity.value: rank for severity, rank in SEVERITY_RANK.items()}
TASK = hints.Task("alerts.deliver", schedule.ALERTS, 300)


@dataclass(frozen=True)
class Selection:
    matchers: tuple[Matcher, ...]
    min_rank: int

    def takes(self, alert: Any) -> bool:
        return _RANK.get(alert.severity, 0) >= self.min_rank and match_all(
            self.matchers, matched_labels(alert)
        )


def selection_of(endpoint: Endpoint) -> Selection:
    return Selection(matchers_of(endpoint), endpoint.min_rank)


def queue(*notices: Notice) -> int:
    """Creates a delivery for each endpoint for which a notice has news; returns how many. Call it
    in a transaction. Idempotent.
    """
    endpoints = [
        (endpoint, selection_of(endpoint)) for endpoint in Endpoint.objects.filter(enabled=True)
    ]
    rows = []
    for notice in notices:
        for endpoint, selection in endpoints:
            part = part_for(notice, selection)
            if part is not None:
                rows += [
                    (delivery_of(sent, endpoint), sent.alerts)
                    for sent in _parts_sent(part, endpoint)
                ]
    return _insert(rows)


def queue_for(notice: Notice, endpoint: Endpoint, *, mail_to: str = "") -> Delivery:
    """Ignores the matchers of the endpoint."""
    row = delivery_of(notice, endpoint, mail_to=mail_to)
    _insert([(row, notice.alerts)])
    return row


def delivery_of(notice: Notice, endpoint: Endpoint, *, mail_to: str = "") -> Delivery:
    notice = notice.without_secrets()
    return Delivery(
        uid=new_uid("msg"),
        endpoint=endpoint,
        mail_to=mail_to,
        notice_uid=notice.uid if notice.part == 1 else f"{notice.uid}.{notice.part}",
        kind=notice.kind,
        group=notice.group[:300],
        cluster=notice.cluster[:100],
        title=title_of(notice)[:300],
        # PostgreSQL refuses NUL, which JSON has as an escape.
        payload=notice.to_json().replace("\\u0000", "\\ufffd"),
        made_at=notice.made_at,
        next_attempt_at=notice.made_at,
    )


def part_for(notice: Notice, selection: Selection) -> Notice | None:
    """The alerts that an endpoint selects; None if none of them is news."""
    severe = [
        alert for alert in notice.alerts if _RANK.get(alert.severity, 0) >= selection.min_rank
    ]
    matches = match_each(selection.matchers, [matched_labels(alert) for alert in severe])
    selected = tuple(alert for alert, is_match in zip(severe, matches, strict=True) if is_match)
    if not selected:
        return None
    part = notice.of(selected, are_chosen=bool(selection.matchers))
    return part if part.changed or part.kind == REPEATED else None


def _insert(rows: list[tuple[Delivery, tuple[NoticeAlert, ...]]]) -> int:
    if not rows:
        return 0
    existing = set(
        Delivery.objects.filter(notice_uid__in={row.notice_uid for row, _ in rows}).values_list(
            "notice_uid", "endpoint", "mail_to"
        )
    )
    new = [
        (row, alerts)
        for row, alerts in rows
        if (row.notice_uid, row.endpoint_id, row.mail_to) not in existing
    ]
    Delivery.objects.bulk_create([row for row, _ in new], batch_size=200)
    links = [
        DeliveryAlert(delivery=row, alert_uid=alert.uid) for row, alerts in new for alert in alerts
    ]
    DeliveryAlert.objects.bulk_create(links, batch_size=1_000)
    transaction.on_commit(hint)
    return len(new)


def matchers_of(endpoint: Endpoint) -> tuple[Matcher, ...]:
    """Empty if the matchers cannot be read: a notice too many is better than none."""
    try:
        return endpoint.parsed_matchers
    except BadMatcher as error:
        logger.error(
            "The matchers of endpoint %s cannot be read, so everything is sent to it: %s",
            endpoint.name,
            error,
        )
        return ()


def _parts_sent(notice: Notice, endpoint: Endpoint) -> list[Notice]:
    parts = notice.in_parts()
    return parts if FORMATS[endpoint.format].for_machines else [replace(parts[0], parts=1)]


def hint(after: timedelta = timedelta()) -> None:
    """Without Redis, the next tick finds the rows."""
    if settings.WEIR.redis_url:
        hints.hint(TASK, KEY, after)


def wake(now: datetime) -> None:
    """At every tick: releases deliveries of dead processes, corrects instants of the future, and
    hints if deliveries wait.
    """
    Delivery.objects.release_from_the_dead()
    Delivery.objects.mend(now)
    Endpoint.objects.filter(paused_until__gt=now + LONGEST_PAUSE + CLOCK_SLACK).update(
        paused_until=None
    )
    if oldest_waiting(now) is not None:
        hint()


def oldest_waiting(now: datetime) -> datetime | None:
    instant: datetime | None = (
        Delivery.objects.sendable(now)
        .order_by("next_attempt_at")
        .values_list("next_attempt_at", flat=True)
        .first()
    )
    return instant
