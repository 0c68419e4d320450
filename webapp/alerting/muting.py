"""Silences mute alerts, and so do clusters that do not answer. When the mute ends, an alert is
notified as it is then. A critical alert that ended while its cluster did not answer is still
notified, unless a silence mutes it.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q

from webapp.alerting.alert_rows import ROWS_AT_ONCE, copy_life, life_of
from webapp.alerting.choices import OPEN, UNREACHABLE, AlertState, EventKind, Mute, Notified
from webapp.alerting.lifecycle import mark_muted, mark_unmuted
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
"""Alerts stay muted for this time after a cluster answers again: its jobs are judged first."""
CRITICAL_RANK = SEVERITY_RANK[Severity.CRITICAL]
FIELDS = ("muted_by", "inhibited_by", "silence", "notified", "notify_since")


@dataclass(frozen=True)
class MuteReason:
    """``pk``: key of the silence or of the muting alert."""

    by: str = Mute.NONE
    pk: int | None = None


@dataclass(frozen=True)
class _SilenceRule:
    reason: MuteReason
    since: datetime
    matchers: tuple[Matcher, ...]

    def may_mute(self, row: Alert) -> bool:
        """False for a critical alert that ended before the silence began."""
        return not (
            _is_critical_ended(row) and row.ends_at is not None and row.ends_at < self.since
        )


class Mutes:
    """All mutes at one instant. "unreachable" wins over silences."""

    def __init__(self, now: datetime) -> None:
        self.rules = [
            _SilenceRule(MuteReason(Mute.SILENCE, silence.pk), silence.starts_at, matchers)
            for silence in Silence.objects.active(now).order_by("-ends_at")
            if (matchers := _matchers_of(silence)) is not None
        ]
        self.unreachable = UnreachableMutes(
            now, lambda row: bool(self._silence_reasons([row])[row.pk].by)
        )

    def reasons_by_alert_id(self, rows: Iterable[Alert]) -> dict[int, MuteReason]:
        reasons: dict[int, MuteReason] = {}
        unmuted: list[Alert] = []
        for row in rows:
            muting = self.unreachable.muting_alert(row)
            if muting is None:
                unmuted.append(row)
            else:
                reasons[row.pk] = MuteReason(Mute.UNREACHABLE, muting.pk)
        return self._silence_reasons(unmuted) | reasons

    def _silence_reasons(self, rows: Sequence[Alert]) -> dict[int, MuteReason]:
        reasons: dict[int, MuteReason] = {}
        labels = {row.pk: matched_labels(row) for row in rows} if self.rules else {}
        for rule in self.rules:
            possible = [row for row in rows if row.pk not in reasons and rule.may_mute(row)]
            matching = match_each(rule.matchers, [labels[row.pk] for row in possible])
            reasons |= {
                row.pk: rule.reason
                for row, matches in zip(possible, matching, strict=True)
                if matches
            }
        return {row.pk: MuteReason() for row in rows} | reasons


def _matchers_of(row: Silence) -> tuple[Matcher, ...] | None:
    """None if the matchers cannot be read: a notice too many is better than none."""
    try:
        return row.parsed_matchers
    except BadMatcher as error:
        logger.error("The matchers of %r cannot be read, so it mutes nothing: %s", row, error)
        return None


def affected_by(mutes: Mutes) -> Iterator[list[int]]:
    in_scope = Q() if mutes.rules else Q(cluster__in=list(mutes.unreachable.by_cluster))
    may_be_muted = (Q(state__in=OPEN) | Q(notify_since__isnull=False)) & in_scope
    alerts = (
        Alert.objects.filter(may_be_muted | ~Q(muted_by=Mute.NONE))
        .exclude(mutes.unreachable.staying_muted())
        .order_by("id")
        .values_list("pk", flat=True)
    )
    return chunks(list(alerts), ROWS_AT_ONCE)


def mute(pks: Iterable[int], mutes: Mutes, now: datetime) -> int:
    """Returns how many alerts changed. Call it in a transaction."""
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
        mute_key = row.inhibited_by_id or row.silence_id
        is_same = (row.muted_by, mute_key) == (reason.by, reason.pk)
        if is_same and not (reason.by and _has_ended_unnotified(row)):
            continue
        life = life_of(row)
        if Mute.UNREACHABLE in (reason.by, row.muted_by) and _is_critical_ended(row):
            pass  # It is notified later: it must not be missed because its cluster did not answer.
        elif reason.by:
            copy_life(row, mark_muted(life))
            if row.notified != life.notified:
                events[EventKind.NOT_NOTIFIED].append(row)
        elif row.muted_by:
            # An alert that began and ended while muted is not notified; its history shows it.
            copy_life(row, mark_unmuted(mark_muted(life), now))
            if row.notified == Notified.RESOLVED != life.notified:
                events[EventKind.NOT_NOTIFIED].append(row)
        if row.is_open and bool(row.muted_by) != bool(reason.by):
            events[EventKind.MUTED if reason.by else EventKind.UNMUTED].append(row)
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


def _has_ended_unnotified(row: Alert) -> bool:
    return row.state == AlertState.RESOLVED and row.notified == Notified.NOTHING


def _is_critical_ended(row: Alert) -> bool:
    return row.severity_rank >= CRITICAL_RANK and _has_ended_unnotified(row)


class UnreachableMutes:
    """The alert of a cluster that does not answer mutes the alerts of its jobs, unless they were
    seen since, or a receiver of theirs does not get the alert of the cluster. That alert mutes
    nothing if half of all clusters do not answer (then the fault is Weir's), if it is pending or
    muted itself (nobody would be notified), or if it is in the future, by a wrong clock.
    ``is_muted``: by a silence.
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
        self.by_cluster: dict[str, Alert] = {}
        if not _is_fault_of_weir(rows.values()):
            self.by_cluster = {alert.cluster: alert for alert in notified}
        self._answers_since = now - JUDGED_AGAIN_AFTER
        self._without_alert: dict[int, list[Selection]] = defaultdict(list)
        """Alert key → endpoints that do not get this alert."""
        for endpoint in Endpoint.objects.filter(enabled=True) if self.by_cluster else ():
            selection = selection_of(endpoint)
            for alert in self.by_cluster.values():
                if not selection.takes(alert):
                    self._without_alert[alert.pk].append(selection)

    def muting_alert(self, row: Alert) -> Alert | None:
        unreachable = self.by_cluster.get(row.cluster)
        if (
            unreachable is None
            or (row.rule == UNREACHABLE and not row.job_id)
            or any(endpoint.takes(row) for endpoint in self._without_alert[unreachable.pk])
        ):
            return None
        last_seen = row.finding.last_seen if row.finding else row.episode_at
        if last_seen > unreachable.episode_at:
            return None
        is_unseen = row.quiet_since is not None or not self._is_over(unreachable)
        return unreachable if is_unseen else None

    def _is_over(self, unreachable: Alert) -> bool:
        return (
            unreachable.quiet_since is not None and unreachable.quiet_since <= self._answers_since
        )

    def staying_muted(self) -> Q:
        """Alerts that stay muted by the same alert."""
        sent_to_all = [
            alert for alert in self.by_cluster.values() if not self._without_alert[alert.pk]
        ]
        over = [alert.pk for alert in sent_to_all if self._is_over(alert)]
        silent = [alert.pk for alert in sent_to_all if not self._is_over(alert)]
        by_same = Q(inhibited_by__in=silent) | Q(inhibited_by__in=over, quiet_since__isnull=False)
        seen = Q(finding__last_seen__gt=F("inhibited_by__episode_at"))
        ended = Q(
            state=AlertState.RESOLVED, notified=Notified.NOTHING, severity_rank__lt=CRITICAL_RANK
        )
        return Q(muted_by=Mute.UNREACHABLE) & by_same & ~seen & ~ended


def _is_fault_of_weir(unreachable: Iterable[Alert]) -> bool:
    watched = set(Cluster.objects.meant_to_run().values_list("name", flat=True))
    silent = sum(alert.quiet_since is None and alert.cluster in watched for alert in unreachable)
    return silent > 0 and 2 * silent >= len(watched)
