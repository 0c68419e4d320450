"""What holds alerts back: a cluster that is not seen, maintenance, silences. What is unmuted is notified, as it then stands."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from webapp.alerting.alert_rows import ROWS_AT_ONCE, life_of, put
from webapp.alerting.choices import BLIND, OPEN, AlertState, Happened, Mute, Notified
from webapp.alerting.lifecycle import muted, unmuted
from webapp.alerting.models import Alert, AlertEvent, MaintenanceWindow, Silence
from webapp.lib.chunks import chunks
from webapp.lib.labels import matched_labels
from webapp.lib.matchers import Matcher, match_all
from webapp.lib.row_updates import write

UNREAD = ("title", "cause", "next_step", "evidence")
FIELDS = ("muted_by", "inhibited_by", "silence", "maintenance", "told", "tell_since")


@dataclass(frozen=True)
class Held:
    """Why an alert is held back, and by which row."""

    by: str = Mute.NONE
    pk: int | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class _Rule:
    held: Held
    matchers: tuple[Matcher, ...]


class Mutes:
    """All that holds alerts back at one instant: three queries. The first reason of blind, maintenance, silence counts."""

    def __init__(self, now: datetime) -> None:
        blind = Alert.objects.open().filter(rule=BLIND, job_id="").order_by("id").values_list("cluster", "pk")
        self.blind: dict[str, int] = {cluster: pk for cluster, pk in blind if cluster}
        windows = [
            _Rule(Held(Mute.MAINTENANCE, one.pk, one.until(now)), one.parsed_matchers) for one in MaintenanceWindow.objects.active(now)
        ]
        silences = [
            _Rule(Held(Mute.SILENCE, one.pk, one.ends_at), one.parsed_matchers) for one in Silence.objects.active(now).order_by("-ends_at")
        ]
        self._rules = [*windows, *silences]

    @property
    def any_by_label(self) -> bool:
        return bool(self._rules)

    def of(self, row: Alert) -> Held:
        parent = self.blind.get(row.cluster)
        if parent is not None and not (row.rule == BLIND and not row.job_id):
            return Held(Mute.BLIND, parent)
        if not self._rules:
            return Held()
        labels = matched_labels(row)
        return next((one.held for one in self._rules if match_all(one.matchers, labels)), Held())


def affected_by(mutes: Mutes) -> Iterator[list[int]]:
    """Numbers of alerts that are or may be held back, some at once."""
    concerned = (Q(state__in=OPEN) | Q(tell_since__isnull=False)) & (Q() if mutes.any_by_label else Q(cluster__in=list(mutes.blind)))
    # Most of what a dark cluster holds back stays held back by the same alert: it need not be read again.
    stays = Q(muted_by=Mute.BLIND, inhibited_by__in=list(mutes.blind.values())) & ~Q(state=AlertState.RESOLVED, told=Notified.NOTHING)
    found = Alert.objects.filter(concerned | ~Q(muted_by=Mute.NONE)).exclude(stays).order_by("id").values_list("pk", flat=True)
    return chunks(list(found), ROWS_AT_ONCE)


def mute(pks: Iterable[int], mutes: Mutes, now: datetime) -> int:
    """Returns how many were muted or let go. Call it in a transaction."""
    changed: list[Alert] = []
    events: dict[str, list[Alert]] = defaultdict(list)
    for row in Alert.objects.filter(pk__in=pks).defer(*UNREAD):
        held = mutes.of(row)
        if (row.muted_by, _by_pk(row)) == (held.by, held.pk) and not (held.by and _ended_unnotified(row)):
            continue
        life = life_of(row)
        if held.by:
            put(row, muted(life))
            if row.told != life.told:
                events[Happened.NOT_TOLD].append(row)
        elif row.muted_by:
            # What began and ended while it was held back is over: only its history shows it.
            put(row, unmuted(muted(life), now))
            if row.told == Notified.RESOLVED != life.told:
                events[Happened.NOT_TOLD].append(row)
        if row.is_open and bool(row.muted_by) != bool(held.by):
            events[Happened.MUTED if held.by else Happened.UNMUTED].append(row)
        row.muted_by = held.by
        row.inhibited_by_id = held.pk if held.by == Mute.BLIND else None
        row.maintenance_id = held.pk if held.by == Mute.MAINTENANCE else None
        row.silence_id = held.pk if held.by == Mute.SILENCE else None
        changed.append(row)
    write(changed, FIELDS)
    AlertEvent.objects.bulk_create(
        [
            AlertEvent(alert=row, at=now, noted_at=now, kind=kind, comment=Mute(row.muted_by).label if row.muted_by else "")
            for kind, rows in events.items()
            for row in rows
        ],
        batch_size=ROWS_AT_ONCE,
    )
    return len(changed)


def _by_pk(row: Alert) -> int | None:
    return row.inhibited_by_id or row.maintenance_id or row.silence_id


def _ended_unnotified(row: Alert) -> bool:
    return row.state == AlertState.RESOLVED and row.told == Notified.NOTHING
