"""Groups → notices → outbox. A group waits briefly to collect related alerts. After that, news of
the same job and incident come at most once per interval, other incidents and new causes at once.
Alerts that nobody acknowledges are repeated.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, F, Max, OuterRef

from spark_jobs.diagnosis.consequences import all_consequences
from webapp.alerting import story_texts
from webapp.alerting.alert_rows import FINDING_FIELDS, ROWS_AT_ONCE, life_of
from webapp.alerting.choices import AlertState, EventKind, Mute, Notified
from webapp.alerting.models import Alert, AlertEvent, AlertGroup
from webapp.alerting.models.alert import AlertQuerySet
from webapp.alerting.notice_content import Facts, notice_alert
from webapp.delivery import outbox
from webapp.delivery.notices import FIRING, RESOLVED, Notice, NoticeAlert
from webapp.lib.chunks import chunks
from webapp.lib.uids import new_uid

LISTED = 100
UNREAD = ("fired", "finding__related", "finding__data", "finding__subject")
WORST_FIRST = ("-severity_rank", "starts_at", "id")
MOST_RECENT = 10
"""Most notices of a group within its interval."""


@dataclass(frozen=True)
class NotificationPace:
    wait: timedelta
    interval: timedelta
    repeat: timedelta


def pace() -> NotificationPace:
    weir = settings.WEIR
    return NotificationPace(
        timedelta(seconds=weir.alert_group_wait_s),
        timedelta(seconds=weir.alert_group_interval_s),
        timedelta(seconds=weir.alert_repeat_s),
    )


def plan(now: datetime) -> list[AlertGroup]:
    """Sets when each group is due; returns the groups with news, the earliest first. Call it in a
    transaction.
    """
    current_pace, changed, with_news = pace(), [], []
    news = _news_by_group(current_pace)
    groups = AlertGroup.objects.filter(pk__in=list(news)) | AlertGroup.objects.filter(
        next_due_at__isnull=False
    )
    for group in groups.distinct():
        due = news.get(group.pk)
        if due is not None and group.last_notified_at is not None:
            due = max(due, group.last_notified_at + current_pace.wait)
            if len(group.recent) >= MOST_RECENT:
                due = max(due, group.recent_notices[-MOST_RECENT] + current_pace.interval)
        if group.next_due_at != due:
            group.next_due_at = due
            changed.append(group)
        if due is not None:
            with_news.append((due, group))
    AlertGroup.objects.bulk_update(changed, ["next_due_at"], batch_size=ROWS_AT_ONCE)
    return [group for _due, group in sorted(with_news, key=lambda pair: (pair[0], pair[1].pk))]


def _news_by_group(current_pace: NotificationPace) -> dict[int, datetime]:
    """Group key → when its news are due."""
    waiting = Alert.objects.to_notify().order_by()
    notified: dict[tuple[str, str], dict[str, datetime]] = defaultdict(dict)
    """(incident, job) → rule → when it was last notified."""
    same_incident = Alert.objects.filter(
        incident__in=waiting.values("incident"), notified_at__isnull=False
    ).order_by()
    last_notices = same_incident.values_list("incident", "first_attempt_id", "rule").annotate(
        Max("notified_at")
    )
    for uid, job, rule, at in last_notices:
        notified[uid, job][rule] = at
    news: dict[int, datetime] = {}
    for row in waiting.defer(*FINDING_FIELDS, "labels"):
        rules = notified.get((row.incident_id or "", row.first_attempt_id), {})
        last = max(rules.values(), default=row.notified_at)
        due = (row.notify_since or row.created_at) + current_pace.wait
        if last is not None and not _is_new_cause(row, rules):
            due = max(due, last + current_pace.interval)
        news[row.group_id] = min(news.get(row.group_id, due), due)
    return news


def _is_new_cause(row: Alert, notified_rules: Collection[str]) -> bool:
    if row.notified_at is not None or not row.is_open:
        return life_of(row).has_new_cause
    return not any(
        row.rule == rule or row.rule in all_consequences(rule) for rule in notified_rules
    )


def to_repeat(now: datetime) -> list[AlertGroup]:
    waits = _unacknowledged().filter(group=OuterRef("pk"))
    return list(
        AlertGroup.objects.filter(
            Exists(waits), last_notified_at__lte=now - pace().repeat, next_due_at__isnull=True
        )
    )


def notify(group: AlertGroup, now: datetime) -> int:
    """Queues a notice if the group has news; returns 1 or 0. Call it in a transaction."""
    news = _read(Alert.objects.to_notify(), group)
    if not news:
        return 0
    firing = [row for row in news if row.state == AlertState.FIRING]
    is_new = any(row.notified == Notified.NOTHING for row in firing)
    kind = FIRING if is_new else "changed" if firing else RESOLVED
    # An alert that ended before it was notified is in one notice, as ended.
    _queue(group, kind, news, now)
    _mark_notified(group, news, now)
    return 1


def repeat(group: AlertGroup, now: datetime) -> int:
    """Queues the notice again; returns 1, or 0 without alerts. Call it in a transaction."""
    rows = _read(_unacknowledged(), group)
    if not rows:
        return 0
    _queue(group, "repeat", rows, now)
    AlertGroup.objects.filter(pk=group.pk).update(last_notified_at=now)
    return 1


def _read(alerts: AlertQuerySet, group: AlertGroup) -> list[Alert]:
    rows = alerts.filter(group=group).select_related("finding").defer(*UNREAD)
    return list(rows.order_by(*WORST_FIRST))


def _unacknowledged() -> AlertQuerySet:
    rows: AlertQuerySet = Alert.objects.unacknowledged().filter(notified=Notified.FIRING)
    return rows


def notice_of(group: AlertGroup, kind: str, changed: Sequence[Alert], now: datetime) -> Notice:
    """Includes the other firing alerts of the group."""
    changed_keys = [row.pk for row in changed]
    firing = Alert.objects.firing().filter(group=group, muted_by=Mute.NONE)
    room = max(LISTED - len(changed), 0)
    unchanged_rows: list[Alert] = []
    if room:
        unchanged = firing.exclude(pk__in=changed_keys[:ROWS_AT_ONCE]).select_related("finding")
        unchanged_rows = list(unchanged.defer(*UNREAD).order_by(*WORST_FIRST)[:room])
    facts = Facts.read([*changed, *unchanged_rows])
    alerts: list[NoticeAlert] = [
        notice_alert(row, facts)
        for row in (*facts.in_order(changed), *facts.in_order(unchanged_rows))
    ]
    firing_total = firing.count()
    resolved_total = sum(alert.status == RESOLVED for alert in alerts)
    return Notice(
        uid=new_uid("ntc"),
        kind=kind,
        group=group.key,
        cluster=group.cluster,
        family=group.family,
        status=FIRING if firing_total else RESOLVED,
        alerts=tuple(alerts),
        alerts_total=firing_total + resolved_total,
        firing_total=firing_total,
        resolved_total=resolved_total,
        changed=frozenset(row.uid for row in changed),
        made_at=now,
        repeat_after_s=0
        if all(row.recorded for row in changed)
        else int(pace().repeat.total_seconds()),
    )


def _queue(group: AlertGroup, kind: str, changed: Sequence[Alert], now: datetime) -> None:
    notice = notice_of(group, kind, changed, now)
    is_queued = outbox.queue(notice)
    comment = story_texts.stored(kind, notice.uid if is_queued else "")
    AlertEvent.objects.bulk_create(
        [
            AlertEvent(alert=row, at=now, kind=EventKind.NOTIFIED, comment=comment)
            for row in changed
        ],
        batch_size=ROWS_AT_ONCE,
    )


def _mark_notified(group: AlertGroup, news: Sequence[Alert], now: datetime) -> None:
    for state, notified in (
        (AlertState.FIRING, Notified.FIRING),
        (AlertState.RESOLVED, Notified.RESOLVED),
    ):
        for pks in chunks((row.pk for row in news if row.state == state), ROWS_AT_ONCE):
            Alert.objects.filter(pk__in=pks).update(
                notified=notified,
                notified_rank=F("severity_rank"),
                milder_since=None,
                notified_causes=F("causes"),
                notified_at=now,
                notify_since=None,
            )
    recent = [*group.recent, now.isoformat()][-MOST_RECENT:]
    AlertGroup.objects.filter(pk=group.pk).update(
        last_notified_at=now,
        next_due_at=None,
        recent=recent,
    )
