"""Alert rows → ``Life`` of :mod:`webapp.alerting.lifecycle`, and back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from webapp.alerting.choices import EventKind, Notified
from webapp.alerting.lifecycle import AlertEpisode, Life, LifeEvent
from webapp.alerting.models import Alert, AlertEvent, AlertGroup
from webapp.alerting.models.alert import NOT_ACKNOWLEDGED
from webapp.findings.choices import SEVERITY_OF_RANK
from webapp.findings.models import Finding
from webapp.lib.row_updates import write

ROWS_AT_ONCE = 500
LIFE_FIELDS = (
    "state",
    "starts_at",
    "episode_at",
    "ends_at",
    "fired_at",
    "resolved_at",
    "quiet_since",
    "firings",
    "flapping",
    "notified",
    "notified_rank",
    "milder_since",
    "notify_since",
)
LISTS = ("fired", "causes", "notified_causes")
FINDING_FIELDS = (
    "job_id",
    "job_name",
    "subject_kind",
    "subject",
    "confidence",
    "title",
    "cause",
    "next_step",
    "evidence",
)
CHANGING_FIELDS = (
    *LIFE_FIELDS,
    "resolves_at",
    *LISTS,
    "severity",
    "severity_rank",
    "ended_because",
)
ALL_FIELDS = (
    *CHANGING_FIELDS,
    *FINDING_FIELDS,
    "first_attempt_id",
    "incident",
    "finding",
    "labels",
    "recorded",
    *NOT_ACKNOWLEDGED,
)


def life_of(row: Alert) -> Life:
    fired = tuple(datetime.fromisoformat(instant) for instant in row.fired)
    return Life(
        **{name: getattr(row, name) for name in LIFE_FIELDS},
        fired=fired,
        rank=row.severity_rank,
        causes=frozenset(row.causes),
        notified_causes=frozenset(row.notified_causes),
    )


def copy_life(row: Alert, life: Life) -> None:
    if row.notified == Notified.RESOLVED and life.notified == Notified.NOTHING:
        # The alert begins again: an earlier acknowledgement no longer counts.
        for name, value in NOT_ACKNOWLEDGED.items():
            setattr(row, name, value)
    for name in LIFE_FIELDS:
        setattr(row, name, getattr(life, name))
    if life.is_open:
        row.ended_because = ""
    row.fired = [instant.isoformat() for instant in life.fired]
    row.causes, row.notified_causes = sorted(life.causes), sorted(life.notified_causes)
    row.severity_rank = life.rank
    row.severity = SEVERITY_OF_RANK.get(life.rank, row.severity)


def episode_of(finding: Finding, rank: int, causes: frozenset[str] = frozenset()) -> AlertEpisode:
    return AlertEpisode(
        finding.first_seen,
        finding.last_seen,
        finding.closed_at if finding.state != "open" else None,
        rank,
        causes,
    )


def copy_texts(row: Alert, finding: Finding) -> None:
    row.finding_id = finding.pk
    for name in FINDING_FIELDS:
        setattr(row, name, getattr(finding, name))


_COMMENT_COLUMN: dict[str, str] = {
    EventKind.RESOLVED: "ended_because",
    EventKind.SEVERITY: "severity",
}


@dataclass
class AlertChanges:
    new: list[Alert] = field(default_factory=list)
    changed: dict[int, Alert] = field(default_factory=dict)
    deleted: list[int] = field(default_factory=list)
    events: list[tuple[Alert, LifeEvent]] = field(default_factory=list)

    def add_events(self, row: Alert, events: Iterable[LifeEvent]) -> None:
        self.events.extend((row, event) for event in events)

    def add_changed(self, row: Alert) -> None:
        if not row._state.adding:
            self.changed[row.pk] = row

    def drop(self, row: Alert) -> None:
        if row in self.new:
            self.new.remove(row)
        else:
            self.changed.pop(row.pk, None)
            self.deleted.append(row.pk)
        self.events = [(alert, event) for alert, event in self.events if alert is not row]

    def save(self, fields: Sequence[str] = ALL_FIELDS) -> None:
        """Call it in a transaction."""
        Alert.objects.filter(pk__in=self.deleted).delete()
        write(self.changed.values(), fields)
        if self.new:
            groups = AlertGroup.objects.ensure({(row.cluster, row.family) for row in self.new})
            for row in self.new:
                row.group = groups[row.cluster, row.family]
            Alert.objects.bulk_create(self.new, batch_size=ROWS_AT_ONCE)
        AlertEvent.objects.bulk_create(
            [
                AlertEvent(
                    alert=row,
                    at=at,
                    kind=kind,
                    comment=getattr(row, _COMMENT_COLUMN[kind]) if kind in _COMMENT_COLUMN else "",
                )
                for row, (at, kind) in self.events
            ],
            batch_size=ROWS_AT_ONCE,
        )
