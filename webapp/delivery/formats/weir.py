"""Weir's own JSON, signed as the Standard Webhooks specification says; described by
:data:`SCHEMA`.
"""

import json
from datetime import datetime
from typing import Any

from webapp.delivery import signing
from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.notices import KINDS, MOST_ALERTS, MOST_MUTED, Notice

VERSION = 1


def document(notice: Notice) -> dict[str, Any]:
    """``type`` is ``alerts.`` and the kind; the notice itself is ``data``."""
    data = json.loads(notice.to_json())
    return {
        "type": f"alerts.{notice.kind}",
        "timestamp": data["made_at"],
        "version": VERSION,
        "data": data,
    }


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    body = json_body(document(notice))
    return Outgoing(to.url, body, {**JSON, **signing.headers(to.secrets, to.message_id, at, body)})


FORMAT = Format("weir", render, for_machines=True, url_help="where it is POSTed to")

_TEXT = {"type": "string"}
_INSTANT = {"type": "string", "format": "date-time"}
_COUNT = {"type": "integer", "minimum": 0}

_ALERT: dict[str, Any] = {
    "uid": {
        **_TEXT,
        "description": "Of this alert; the same while it fires and when it is resolved.",
    },
    "fingerprint": {
        **_TEXT,
        "description": "The same for the same rule and subject, whenever it fires.",
    },
    "status": {"enum": ["firing", "resolved"]},
    "rule": {**_TEXT, "description": "Rule id, such as checkpoint.declined."},
    "family": {**_TEXT, "description": "What the rule is about, such as checkpoint."},
    "severity": {"enum": ["info", "warning", "critical"]},
    "confidence": {
        **_TEXT,
        "description": "high, medium or low: how sure the rule is of the cause.",
    },
    "cluster": {
        **_TEXT,
        "description": "Empty where it is about storage shared by several.",
    },
    "job_id": {
        **_TEXT,
        "description": "Empty where it is about a cluster or storage.",
    },
    "job_name": _TEXT,
    "subject_kind": {
        **_TEXT,
        "description": "job, vertex, checkpoint, cluster, root …",
    },
    "subject": _TEXT,
    "title": {**_TEXT, "description": "What happened, in one line."},
    "cause": {**_TEXT, "description": "Why, as far as the evidence says."},
    "next_step": {**_TEXT, "description": "What to do first."},
    "starts_at": {
        **_INSTANT,
        "description": "When it began, by the clock of the data.",
    },
    "ends_at": {
        "type": ["string", "null"],
        "format": "date-time",
        "description": "When it ended; null while it fires.",
    },
    "evidence": {
        "type": "array",
        "items": {"type": "object"},
        "description": "Figures: name, value, unit, threshold, comparison, note.",
    },
    "acknowledged_by": {"type": ["string", "null"]},
    "flapping": {
        "type": "boolean",
        "description": "It fired repeatedly within half an hour (flapping).",
    },
    "muted_count": {**_COUNT, "description": "Alerts this one inhibits."},
    "muted": {
        "type": "array",
        "items": _TEXT,
        "maxItems": MOST_MUTED,
        "description": "The first of them.",
    },
    "labels": {"type": "object", "additionalProperties": _TEXT},
    "incident_id": {
        "type": ["string", "null"],
        "description": "Of the incident it is part of: findings of one cause.",
    },
    "incident_title": {
        **_TEXT,
        "description": "What it follows from; empty where it is the cause itself.",
    },
    "links": {
        "type": "object",
        "additionalProperties": _TEXT,
        "description": "alert, finding, runbook, job, incident: addresses of pages.",
    },
}

_NOTICE: dict[str, Any] = {
    "uid": {**_TEXT, "description": "Of the notice, the same for all endpoints."},
    "kind": {"enum": list(KINDS)},
    "group": {
        **_TEXT,
        "description": "Cluster and rule family: what notices are grouped by.",
    },
    "cluster": _TEXT,
    "family": _TEXT,
    "status": {
        "enum": ["firing", "resolved"],
        "description": "firing while any alert of the group is.",
    },
    "alerts": {
        "type": "array",
        "maxItems": MOST_ALERTS,
        "description": "Those that changed first.",
        "items": {
            "type": "object",
            "required": list(_ALERT),
            "additionalProperties": True,
            "properties": _ALERT,
        },
    },
    "alerts_total": {
        **_COUNT,
        "description": "All alerts of the group, including those that do not fit into the notice.",
    },
    "firing_total": _COUNT,
    "resolved_total": _COUNT,
    "changed": {
        "type": "array",
        "items": _TEXT,
        "description": "Uids of the alerts that are news.",
    },
    "made_at": _INSTANT,
    "part": {
        "type": "integer",
        "minimum": 1,
        "description": "Of a notice of very many alerts; each part has an id of its own.",
    },
    "parts": {"type": "integer", "minimum": 1},
    "repeat_after_s": {
        **_COUNT,
        "description": "When it is sent again if nothing changes; 0 for never.",
    },
}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Notice of Weir, version 1",
    "description": "Fields may be added; none is removed or changes its meaning within a version.",
    "type": "object",
    "required": ["type", "timestamp", "version", "data"],
    "additionalProperties": True,
    "properties": {
        "type": {"enum": [f"alerts.{kind}" for kind in KINDS]},
        "timestamp": {**_INSTANT, "description": "When the notice was made."},
        "version": {"const": VERSION},
        "data": {
            "type": "object",
            "required": list(_NOTICE),
            "additionalProperties": True,
            "properties": _NOTICE,
        },
    },
}
