"""A notice about one group of alerts, as plain data: no database and no clock, so that it is the
same at every attempt.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from ingest.redaction.documents import redact_texts
from ingest.redaction.texts import redact

FIRING, RESOLVED = "firing", "resolved"
KINDS = ("firing", "changed", "resolved", "repeat", "test", "endpoint_disabled")
MOST_ALERTS, MOST_CHARACTERS = 500, 750_000
"""Of one request: web servers refuse more than a megabyte by default. Machines get the rest in
further parts.
"""
MOST_MUTED = 50


@dataclass(frozen=True)
class NoticeAlert:
    """The published schema follows from the fields."""

    uid: Annotated[str, "Of this alert; the same while it fires and when it is resolved."]
    fingerprint: Annotated[str, "The same for the same rule and subject, whenever it fires."]
    status: Annotated[str, {"enum": [FIRING, RESOLVED]}]
    rule: Annotated[str, "Rule id, such as checkpoint.declined."]
    family: Annotated[str, "What the rule is about, such as checkpoint."]
    severity: Annotated[str, {"enum": ["info", "warning", "critical"]}]
    confidence: Annotated[str, "high, medium or low: how sure the rule is of the cause."]
    cluster: Annotated[str, "Empty where it is about storage shared by several."]
    job_id: Annotated[str, "Empty where it is about a cluster or storage."]
    job_name: str
    subject_kind: Annotated[str, "job, vertex, checkpoint, cluster, root …"]
    subject: str
    title: Annotated[str, "What happened, in one line."]
    cause: Annotated[str, "Why, as far as the evidence says."]
    next_step: Annotated[str, "What to do first."]
    starts_at: Annotated[datetime, "When it began, by the clock of the data."]
    ends_at: Annotated[datetime | None, "When it ended; null while it fires."] = None
    evidence: Annotated[
        tuple[Mapping[str, Any], ...], "Figures: name, value, unit, threshold, comparison, note."
    ] = ()
    acknowledged_by: str | None = None
    flapping: Annotated[bool, "It fired repeatedly within half an hour (flapping)."] = False
    muted_count: Annotated[int, "Alerts this one inhibits."] = 0
    muted: Annotated[tuple[str, ...], "The first of them.", {"maxItems": MOST_MUTED}] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    incident_id: Annotated[str | None, "Of the incident it is part of: findings of one cause."] = (
        None
    )
    incident_title: Annotated[str, "What it follows from; empty where it is the cause itself."] = ""
    links: Annotated[
        Mapping[str, str], "alert, finding, runbook, job, incident: addresses of pages."
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class Notice:
    """An endpoint gets the alerts that it selects, in parts."""

    uid: Annotated[str, "Of the notice, the same for all endpoints."]
    kind: Annotated[str, {"enum": list(KINDS)}]
    group: Annotated[str, "Cluster and rule family: what notices are grouped by."]
    cluster: str
    family: str
    status: Annotated[str, "firing while any alert of the group is.", {"enum": [FIRING, RESOLVED]}]
    alerts: Annotated[
        tuple[NoticeAlert, ...], "Those that changed first.", {"maxItems": MOST_ALERTS}
    ]
    alerts_total: Annotated[
        int, "All alerts of the group, including those that do not fit into the notice."
    ]
    firing_total: int
    resolved_total: int
    changed: Annotated[frozenset[str], "Uids of the alerts that are news."]
    made_at: datetime
    repeat_after_s: Annotated[int, "When it is sent again if nothing changes; 0 for never."]
    part: Annotated[
        int, "Of a notice of very many alerts; each part has an id of its own.", {"minimum": 1}
    ] = 1
    parts: Annotated[int, {"minimum": 1}] = 1

    def to_json(self) -> str:
        text = json.dumps(_plain(self), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return text.encode(errors="replace").decode()  # lone surrogates, which no encoding has

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
        """The notice with only ``alerts`` of it. The totals stay if none is left out, since they
        may count more than the notice contains. They are counted again if the endpoint selects
        alerts (``are_chosen``) and the group has several clusters: it may not select all of them.
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
        """Parts of the allowed size, each with the totals of the whole."""
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
