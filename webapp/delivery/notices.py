"""A notice about one group of alerts, as plain data: it is the same at every attempt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from ingest.redaction.documents import redact_texts
from ingest.redaction.texts import redact
from webapp.lib.instants import iso_text

FIRING, RESOLVED = "firing", "resolved"
MOST_ALERTS, MOST_CHARACTERS = 500, 750_000
"""Limits of a part: by default, web servers refuse requests of more than a megabyte."""
MOST_MUTED = 50


@dataclass(frozen=True)
class NoticeAlert:
    """``reference/notice.schema.json`` of the documentation describes the fields."""

    uid: str
    fingerprint: str
    status: str
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
    muted: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    incident_id: str | None = None
    incident_title: str = ""
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Notice:
    uid: str
    kind: str
    group: str
    cluster: str
    family: str
    status: str
    alerts: tuple[NoticeAlert, ...]
    alerts_total: int
    firing_total: int
    resolved_total: int
    changed: frozenset[str]
    made_at: datetime
    repeat_after_s: int
    part: int = 1
    parts: int = 1

    def to_json(self) -> str:
        text = json.dumps(_plain(self), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return text.encode(errors="replace").decode()  # replaces lone surrogates

    @classmethod
    def from_json(cls, text: str) -> "Notice":
        raw = json.loads(text)
        return cls(
            **{
                **raw,
                "alerts": tuple(_alert(alert) for alert in raw["alerts"]),
                "changed": frozenset(raw["changed"]),
                "made_at": _instant(raw["made_at"]),
            }
        )

    def without_secrets(self) -> "Notice":
        """Redacts names, texts and figures of users' jobs."""
        return replace(self, alerts=tuple(_redact(alert) for alert in self.alerts))

    def of(self, alerts: tuple[NoticeAlert, ...], *, are_chosen: bool = False) -> "Notice":
        """The notice with only these ``alerts``. Its totals, which may count more alerts than it
        has, stay if no alert is left out, unless the endpoint selects alerts (``are_chosen``) of a
        group without a cluster: then it may not select all that they count.
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
        """Each part has the totals of the whole notice."""
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
        return iso_text(value)
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
    return NoticeAlert(
        **{
            **raw,
            "starts_at": _instant(raw["starts_at"]),
            "ends_at": _instant(raw["ends_at"]) if raw["ends_at"] else None,
            "evidence": tuple(raw["evidence"]),
            "muted": tuple(raw["muted"]),
        }
    )


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
