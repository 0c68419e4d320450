"""Unseen clusters and silences mute alerts. After that, an alert is notified in its current state.
A critical alert muted by its cluster is notified even if it ended, unless people mute it before.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q

from webapp.alerting.alert_rows import ROWS_AT_ONCE, life_of, put
from webapp.alerting.choices import OPEN, UNREACHABLE, AlertState, Happened, Mute, Notified
from webapp.alerting.lifecycle import muted, unmuted
from webapp.alerting.models import Alert, AlertEvent, Silence
from webapp.delivery.models import Endpoint
from webapp.delivery.outbox import Selection, selection_of
from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.fleet.models import Cluster
from webapp.lib.chunks import chunks
from webapp.lib.labels import matched_labels
from webapp.lib.matchers import BadMatcher, Matcher, match_each
from webapp.lib.row_updates import write
from webapp.work.models import CLOCK_SLACK

logger = logging.getLogger(__name__)

UNREAD = ("title", "cause", "next_step", "evidence")
JUDGED_AGAIN_AFTER = timedelta(seconds=60)
"""Time to judge the jobs of a cluster that is seen again; what is unseen by then is not notified.
"""
CRITICAL_RANK = SEVERITY_RANK[Severity.CRITICAL]
FIELDS = ("muted_by", "inhibited_by", "silence", "notified", "notify_since")


@dataclass(frozen=True)
class MuteReason:
    by: str = Mute.NONE
    pk: int | None = None


@dataclass(frozen=True)
class _Rule:
    reason: MuteReason
    since: datetime
    matchers: tuple[Matcher, ...]

    def may_hold(self, row: Alert) -> bool:
        return not (_is_late_news(row) and row.ends_at is not None and row.ends_at < self.since)


class Mutes:
    """All mutes at one instant, in at most four queries; "unreachable" wins."""

    def __init__(self, now: datetime) -> None:
        self.rules = [
            _Rule(MuteReason(Mute.SILENCE, silence.pk), silence.starts_at, matchers)
            for silence in Silence.objects.active(now).order_by("-ends_at")
            if (matchers := _matchers_of(silence)) is not None
        ]
        self.unreachable = UnreachableMutes(
            now, lambda row: bool(self._by_people([row])[row.pk].by)
        )

    def reasons_by_alert_id(self, rows: Iterable[Alert]) -> dict[int, MuteReason]:
        reasons: dict[int, MuteReason] = {}
        left: list[Alert] = []
        for row in rows:
            parent = self.unreachable.of(row)
            if parent is None:
                left.append(row)
            else:
                reasons[row.pk] = MuteReason(Mute.UNREACHABLE, parent.pk)
        return self._by_people(left) | reasons

    def _by_people(self, rows: Sequence[Alert]) -> dict[int, MuteReason]:
        reasons: dict[int, MuteReason] = {}
        labels = {row.pk: matched_labels(row) for row in rows} if self.rules else {}
        for rule in self.rules:
            possible = [row for row in rows if row.pk not in reasons and rule.may_hold(row)]
            matching = match_each(rule.matchers, [labels[row.pk] for row in possible])
            reasons |= {
                row.pk: rule.reason
                for row, matches in zip(possible, matching, strict=True)
                if matches
            }
        return {row.pk: MuteReason() for row in rows} | reasons


def _matchers_of(row: Silence) -> tuple[Matcher, ...] | None:
    """None for unreadable matchers, which mute nothing: a superfluous notice is better than none."""
    try:
        return row.parsed_matchers
    except BadMatcher as error:
        logger.error("The matchers of %r cannot be read, so it mutes nothing: %s", row, error)
        return None


def affected_by(mutes: Mutes) -> Iterator[list[int]]:
    of_some = Q() if mutes.rules else Q(cluster__in=list(mutes.unreachable.by_cluster))
    concerned = (Q(state__in=OPEN) | Q(notify_since__isnull=False)) & of_some | ~Q(
        muted_by=Mute.NONE
    )
    # Alerts that stay muted need not be read again.
    alerts = (
        Alert.objects.filter(concerned)
        .exclude(mutes.unreachable.stay_held())
        .order_by("id")
        .values_list("pk", flat=True)
    )
    return chunks(list(alerts), ROWS_AT_ONCE)


def mute(pks: Iterable[int], mutes: Mutes, now: datetime) -> int:
    """Returns how many changed. Call it in a transaction."""
    changed: list[Alert] = []
    events: dict[str, list[Alert]] = defaultdict(list)
    rows = (
        Alert.objects.filter(pk__in=pks)
        .select_related("finding")
        .defer(*UNREAD, *(f"finding__{name}" for name in UNREAD))
    )
    reasons = mutes.reasons_by_alert_id(rows)
    for row in rows:
        reason = reasons[row.pk]
        if (row.muted_by, _by_pk(row)) == (reason.by, reason.pk) and not (
            reason.by and _ended_unnotified(row)
        ):
            continue
        life = life_of(row)
        if _is_notified_later(row, reason):
            pass
        elif reason.by:
            put(row, muted(life))
            if row.notified != life.notified:
                events[Happened.NOT_NOTIFIED].append(row)
        elif row.muted_by:
            # An alert that began and ended while muted is over: only its history shows it.
            put(row, unmuted(muted(life), now))
            if row.notified == Notified.RESOLVED != life.notified:
                events[Happened.NOT_NOTIFIED].append(row)
        if row.is_open and bool(row.muted_by) != bool(reason.by):
            events[Happened.MUTED if reason.by else Happened.UNMUTED].append(row)
        row.muted_by = reason.by
        row.inhibited_by_id = reason.pk if reason.by == Mute.UNREACHABLE else None
        row.silence_id = reason.pk if reason.by == Mute.SILENCE else None
        changed.append(row)
    write(changed, FIELDS)
    AlertEvent.objects.bulk_create(
        [
            AlertEvent(
                alert=row,
                at=now,
                kind=kind,
                comment=Mute(row.muted_by).label if row.muted_by else "",
            )
            for kind, rows in events.items()
            for row in rows
        ],
        batch_size=ROWS_AT_ONCE,
    )
    return len(changed)


def _by_pk(row: Alert) -> int | None:
    return row.inhibited_by_id or row.silence_id


def _ended_unnotified(row: Alert) -> bool:
    return row.state == AlertState.RESOLVED and row.notified == Notified.NOTHING


def _is_notified_later(row: Alert, reason: MuteReason) -> bool:
    """A critical alert must not pass unnoticed because its cluster was not seen."""
    return Mute.UNREACHABLE in (reason.by, row.muted_by) and _is_late_news(row)


def _is_late_news(row: Alert) -> bool:
    return row.severity_rank >= CRITICAL_RANK and _ended_unnotified(row)


class UnreachableMutes:
    """An unseen cluster's alert mutes those of its jobs for receivers that get it, unless something
    was seen since. It mutes nothing if half of all clusters are unseen (the fault is Weir's), if it
    is pending or muted itself (nobody would be notified), or if a clock dates it in the future.

    At most three queries. ``is_muted``: by people.
    """

    def __init__(self, now: datetime, is_muted: Callable[[Alert], bool]) -> None:
        open_rows = (
            Alert.objects.open()
            .filter(rule=UNREACHABLE, job_id="")
            .exclude(cluster="")
            .order_by("id")
        )
        rows = {row.cluster: row for row in open_rows.defer(*UNREAD)}
        notified = [
            row
            for row in rows.values()
            if row.state == AlertState.FIRING
            and row.episode_at <= now + CLOCK_SLACK
            and not is_muted(row)
        ]
        self.by_cluster: dict[str, Alert] = (
            {} if _is_weirs_own(rows.values()) else {alert.cluster: alert for alert in notified}
        )
        self._seen_since = now - JUDGED_AGAIN_AFTER
        self._unaware: dict[int, list[Selection]] = defaultdict(list)
        """Alert key → endpoints that do not get that alert."""
        for endpoint in Endpoint.objects.filter(enabled=True) if self.by_cluster else ():
            selection = selection_of(endpoint)
            for alert in self.by_cluster.values():
                if not selection.takes(alert):
                    self._unaware[alert.pk].append(selection)

    def of(self, row: Alert) -> Alert | None:
        """The alert that mutes ``row``."""
        unreachable = self.by_cluster.get(row.cluster)
        if (
            unreachable is None
            or (row.rule == UNREACHABLE and not row.job_id)
            or any(mute.takes(row) for mute in self._unaware[unreachable.pk])
        ):
            return None
        last_seen = row.finding.last_seen if row.finding else row.episode_at
        return (
            unreachable
            if last_seen <= unreachable.episode_at
            and (row.quiet_since is not None or not self._is_over(unreachable))
            else None
        )

    def _is_over(self, unreachable: Alert) -> bool:
        return unreachable.quiet_since is not None and unreachable.quiet_since <= self._seen_since

    def stay_held(self) -> Q:
        """Alerts that stay muted by the same alert."""
        of_all = [alert for alert in self.by_cluster.values() if not self._unaware[alert.pk]]
        over = [alert.pk for alert in of_all if self._is_over(alert)]
        dark = [alert.pk for alert in of_all if not self._is_over(alert)]
        by_same = Q(inhibited_by__in=dark) | Q(inhibited_by__in=over, quiet_since__isnull=False)
        seen = Q(finding__last_seen__gt=F("inhibited_by__episode_at"))
        ended = Q(
            state=AlertState.RESOLVED, notified=Notified.NOTHING, severity_rank__lt=CRITICAL_RANK
        )
        return Q(muted_by=Mute.UNREACHABLE) & by_same & ~seen & ~ended


def _is_weirs_own(unreachable: Iterable[Alert]) -> bool:
    watched = set(Cluster.objects.meant_to_run().values_list("name", flat=True))
    dark = sum(alert.quiet_since is None and alert.cluster in watched for alert in unreachable)
    return dark > 0 and 2 * dark >= len(watched)
