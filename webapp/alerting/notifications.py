"""Groups → notices → the outbox: what is due is put together and queued in the transaction that
marks it as notified.

A group waits a little after the first evidence, so that what belongs together comes together; then
news come no more often than its interval; and what nobody has acknowledged is repeated after a
while.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, F, Min, OuterRef

from webapp.alerting import story_texts
from webapp.alerting.alert_rows import ROWS_AT_ONCE
from webapp.alerting.choices import AlertState, Happened, Mute, Notified
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


@dataclass(frozen=True)
class NotificationPace:
    """How a group takes its time."""

    wait: timedelta
    interval: timedelta
    repeat: timedelta


def pace() -> NotificationPace:
    known = settings.WEIR
    return NotificationPace(
        timedelta(seconds=known.alert_group_wait_s),
        timedelta(seconds=known.alert_group_interval_s),
        timedelta(seconds=known.alert_repeat_s),
    )


def plan(now: datetime) -> list[AlertGroup]:
    """Note of every group when it is due; returns those with news, the earliest first.

    Call it in a transaction.
    """
    since = dict(
        Alert.objects.to_notify()
        .order_by()
        .values_list("group")
        .annotate(since=Min("notify_since"))
    )
    groups = AlertGroup.objects.filter(pk__in=list(since)) | AlertGroup.objects.filter(
        next_due_at__isnull=False
    )
    taken, changed, with_news = pace(), [], []
    for group in groups.distinct():
        first = since.get(group.pk)
        due = None if first is None else first + taken.wait
        if due is not None and group.last_notified_at is not None:
            due = max(due, group.last_notified_at + taken.interval)
        if (group.first_pending_at, group.next_due_at) != (first, due):
            group.first_pending_at, group.next_due_at = first, due
            changed.append(group)
        if due is not None:
            with_news.append((due, group))
    AlertGroup.objects.bulk_update(
        changed, ["first_pending_at", "next_due_at"], batch_size=ROWS_AT_ONCE
    )
    return [group for _due, group in sorted(with_news, key=lambda pair: (pair[0], pair[1].pk))]


def to_repeat(now: datetime) -> list[AlertGroup]:
    """Groups whose last notice is long ago, with something that fires and that nobody has
    acknowledged.
    """
    waits = _unanswered().filter(group=OuterRef("pk"))
    return list(
        AlertGroup.objects.filter(
            Exists(waits), last_notified_at__lte=now - pace().repeat, next_due_at__isnull=True
        )
    )


def notify(group: AlertGroup, now: datetime) -> int:
    """Queue what is new in a group; returns how many notices. Call it in a transaction."""
    news = list(
        Alert.objects.to_notify()
        .filter(group=group)
        .select_related("finding")
        .defer(*UNREAD)
        .order_by(*WORST_FIRST)
    )
    ended_early = [
        row for row in news if row.state == AlertState.RESOLVED and row.notified == Notified.NOTHING
    ]
    firing = [row for row in news if row.state == AlertState.FIRING]
    ended = [
        row for row in news if row.state == AlertState.RESOLVED and row.notified != Notified.NOTHING
    ]
    if not news:
        return 0
    made = 0
    if firing or ended:
        is_new = any(row.notified == Notified.NOTHING for row in firing)
        kind = FIRING if is_new or ended_early else "changed" if firing else RESOLVED
        _queue(group, kind, [*firing, *ended_early, *ended], now, still_firing=ended_early)
        made += 1
    elif ended_early:
        _queue(group, FIRING, ended_early, now, still_firing=ended_early)
        made += 1
    if ended_early:
        # It fired and was resolved between two evaluations: a receiver that keeps a state needs
        # both notices.
        _queue(group, RESOLVED, ended_early, now)
        made += 1
    _mark_notified(group, news, made, now)
    return made


def repeat(group: AlertGroup, now: datetime) -> int:
    """Notify again of what nobody has acknowledged. Call it in a transaction."""
    rows = list(
        _unanswered()
        .filter(group=group)
        .select_related("finding")
        .defer(*UNREAD)
        .order_by(*WORST_FIRST)
    )
    if not rows:
        return 0
    _queue(group, "repeat", rows, now)
    AlertGroup.objects.filter(pk=group.pk).update(last_notified_at=now, notices=F("notices") + 1)
    return 1


def _unanswered() -> AlertQuerySet:
    rows: AlertQuerySet = Alert.objects.unacknowledged().filter(notified=Notified.FIRING)
    return rows


def _queue(
    group: AlertGroup,
    kind: str,
    changed: Sequence[Alert],
    now: datetime,
    still_firing: Sequence[Alert] = (),
) -> Notice:
    notified_as_firing = {row.pk for row in still_firing}
    known = {row.pk for row in changed}
    others = Alert.objects.firing().filter(group=group, muted_by=Mute.NONE)
    room = max(LISTED - len(changed), 0)
    beside = (
        list(
            others.exclude(pk__in=list(known)[:ROWS_AT_ONCE])
            .select_related("finding")
            .defer(*UNREAD)
            .order_by(*WORST_FIRST)[:room]
        )
        if room
        else []
    )
    facts = Facts.read([*changed, *beside])
    alerts: list[NoticeAlert] = [
        notice_alert(
            row, facts, status=FIRING if row.is_open or row.pk in notified_as_firing else RESOLVED
        )
        for row in (*facts.in_order(changed), *facts.in_order(beside))
    ]
    firing_total = others.count() + len(notified_as_firing)
    resolved_total = sum(alert.status == RESOLVED for alert in alerts)
    notice = Notice(
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
    heard = outbox.queue(notice)
    words = story_texts.stored(kind, notice.uid if heard else "")
    AlertEvent.objects.bulk_create(
        [
            AlertEvent(alert=row, at=now, noted_at=now, kind=Happened.NOTIFIED, comment=words)
            for row in changed
        ],
        batch_size=ROWS_AT_ONCE,
    )
    return notice


def _mark_notified(group: AlertGroup, news: Sequence[Alert], notices: int, now: datetime) -> None:
    for state, notified in (
        (AlertState.FIRING, Notified.FIRING),
        (AlertState.RESOLVED, Notified.RESOLVED),
    ):
        for pks in chunks((row.pk for row in news if row.state == state), ROWS_AT_ONCE):
            Alert.objects.filter(pk__in=pks).update(
                notified=notified,
                notified_rank=F("severity_rank"),
                milder_since=None,
                notified_at=now,
                notify_since=None,
            )
    AlertGroup.objects.filter(pk=group.pk).update(
        last_notified_at=now,
        first_pending_at=None,
        next_due_at=None,
        notices=F("notices") + notices,
    )
