"""One notice about one group of alerts, as plain data. Formats read it, the outbox keeps it as
JSON.

This module uses neither database nor clock, so that a notice is the same at every attempt.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from ingest.redaction.documents import redact_texts
from ingest.redaction.texts import redact

FIRING, RESOLVED = "firing", "resolved"
KINDS = ("firing", "changed", "resolved", "repeat", "test", "endpoint_disabled")
MOST_ALERTS, MOST_CHARACTERS = 500, 750_000
"""Of what one endpoint is sent at once: web servers refuse more than a megabyte unless configured
otherwise. Machines are sent the rest in further parts.
"""
MOST_MUTED = 50


@dataclass(frozen=True)
class NoticeAlert:
    """One alert when the notice was made. Instants are data time; ``evidence`` is that of findings."""

    uid: str
    fingerprint: str
    """The same for all alerts of a rule and subject."""
    status: str
    """``firing`` or ``resolved``."""
    rule: str
    family: str
    severity: str
    confidence: str
    cluster: str
    job_id: str
    job_name: str
    subject_kind: str
    subject: str
    title: str
    cause: str
    next_step: str
    starts_at: datetime
    ends_at: datetime | None = None
    evidence: tuple[Mapping[str, Any], ...] = ()
    acknowledged_by: str | None = None
    flapping: bool = False
    muted_count: int = 0
    """Alerts that this one inhibits: the jobs of an unreachable cluster cannot be judged."""
    muted: tuple[str, ...] = ()
    """The first 50 of them, by name."""
    labels: Mapping[str, str] = field(default_factory=dict)
    incident_id: str | None = None
    """Uid of the incident that it is part of."""
    incident_title: str = ""
    """The title of its cause, if that is another finding."""
    links: Mapping[str, str] = field(default_factory=dict)
    """``alert``, ``finding``, ``runbook``, ``job``, ``incident``: absolute addresses, as far as
    there are any.
    """


@dataclass(frozen=True)
class Notice:
    """One notice about one group. ``alerts``: changed ones first; the totals count all. Alerting
    includes all changed alerts, for routes to choose from; an endpoint gets those of one part, at
    most 500.
    """

    uid: str
    kind: str
    """One of :data:`KINDS`."""
    group: str
    """``cluster/family``: what chat systems and PagerDuty fold by."""
    cluster: str
    family: str
    status: str
    """``firing`` while any alert of the group is."""
    alerts: tuple[NoticeAlert, ...]
    alerts_total: int
    firing_total: int
    resolved_total: int
    changed: frozenset[str]
    """Uids of the alerts that are news."""
    made_at: datetime
    repeat_after_s: int
    """When it is repeated if nothing changes; 0 for never."""
    part: int = 1
    parts: int = 1

    def to_json(self) -> str:
        text = json.dumps(_plain(self), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return text.encode(errors="replace").decode()  # lone surrogates, which no encoding has

    @classmethod
    def from_json(cls, text: str) -> "Notice":
        raw = json.loads(text)
        alerts = tuple(_alert(alert) for alert in raw["alerts"])
        given = {
            **raw,
            "alerts": alerts,
            "changed": frozenset(raw["changed"]),
            "made_at": _instant(raw["made_at"]),
        }
        return cls(
            **{column.name: given[column.name] for column in fields(cls) if column.name in given}
        )

    def without_secrets(self) -> "Notice":
        """Safe to send: names, texts and figures from users' jobs and logs are redacted. Ids, times
        and links are Weir's own.
        """
        return replace(self, alerts=tuple(_redact(alert) for alert in self.alerts))

    def of(self, alerts: tuple[NoticeAlert, ...], *, are_chosen: bool = False) -> "Notice":
        """The same notice for an endpoint that only gets ``alerts``, a part of this one's. If none
        is left out, the totals stay, since they may count more than the notice contains. But if the
        endpoint selects alerts (``are_chosen``) and the group has several clusters, the totals are
        counted again, since they may include alerts it does not select.
        """
        if len(alerts) == len(self.alerts) and (self.cluster or not are_chosen):
            return self
        firing = sum(alert.status == FIRING for alert in alerts)
        return replace(
            self,
            alerts=alerts,
            alerts_total=len(alerts),
            firing_total=firing,
            resolved_total=len(alerts) - firing,
            changed=self.changed & {alert.uid for alert in alerts},
            status=FIRING if firing else RESOLVED,
            kind=RESOLVED if not firing and self.kind in ("firing", "changed") else self.kind,
        )

    def in_parts(self) -> "list[Notice]":
        """The notice in parts of the allowed size; each part has the totals of the whole."""
        parts: list[list[NoticeAlert]] = [[]]
        size = 0
        for alert in self.alerts:
            length = len(json.dumps(_plain(alert), ensure_ascii=False))
            if parts[-1] and (len(parts[-1]) == MOST_ALERTS or size + length > MOST_CHARACTERS):
                parts.append([])
                size = 0
            parts[-1].append(alert)
            size += length
        return [
            replace(
                self,
                alerts=tuple(part),
                changed=self.changed & {alert.uid for alert in part},
                part=number,
                parts=len(parts),
            )
            for number, part in enumerate(parts, 1)
        ]

    def first_part(self) -> "Notice":
        return replace(self.in_parts()[0], parts=1)


def _redact(alert: NoticeAlert) -> NoticeAlert:
    return replace(
        alert,
        job_name=redact(alert.job_name),
        subject=redact(alert.subject),
        title=redact(alert.title),
        cause=redact(alert.cause),
        next_step=redact(alert.next_step),
        evidence=tuple(redact_texts(alert.evidence)),
        muted=tuple(redact(name) for name in alert.muted),
        incident_title=redact(alert.incident_title),
        labels=redact_texts(dict(alert.labels)),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, (NoticeAlert, Notice)):
        return {column.name: _plain(getattr(value, column.name)) for column in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _alert(raw: dict[str, Any]) -> NoticeAlert:
    given = {
        **raw,
        "starts_at": _instant(raw["starts_at"]),
        "ends_at": _instant(raw["ends_at"]) if raw["ends_at"] else None,
        "evidence": tuple(raw["evidence"]),
        "muted": tuple(raw["muted"]),
    }
    # Notices queued by an earlier version of Weir have no incident.
    return NoticeAlert(
        **{
            column.name: given[column.name]
            for column in fields(NoticeAlert)
            if column.name in given
        }
    )


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
