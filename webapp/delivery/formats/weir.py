"""Weir's JSON, signed by the Standard Webhooks specification."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from webapp.delivery import signing
from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.notices import KINDS, Notice, NoticeAlert

VERSION = 1


def document(notice: Notice) -> dict[str, Any]:
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


FORMAT = Format("weir", render, for_machines=True)

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_TYPES: dict[Any, dict[str, Any]] = {
    str: _TEXT,
    str | None: {"type": ["string", "null"]},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    datetime: {"type": "string", "format": "date-time"},
    datetime | None: {"type": ["string", "null"], "format": "date-time"},
    tuple[str, ...]: _TEXTS,
    frozenset[str]: _TEXTS,
    Mapping[str, str]: {"type": "object", "additionalProperties": _TEXT},
    tuple[Mapping[str, Any], ...]: {"type": "array", "items": {"type": "object"}},
}


def _object(of: type) -> dict[str, Any]:
    """The schema of a dataclass; annotations of its fields add descriptions and limits."""
    properties: dict[str, dict[str, Any]] = {}
    for name, hint in get_type_hints(of, include_extras=True).items():
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        properties[name] = dict(_TYPES[kind])
        for note in notes:
            properties[name] |= {"description": note} if isinstance(note, str) else note
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": True,
        "properties": properties,
    }


_TYPES[tuple[NoticeAlert, ...]] = {"type": "array", "items": _object(NoticeAlert)}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Notice of Weir, version 1",
    "description": "Fields may be added; none is removed or changes its meaning within a version.",
    "type": "object",
    "required": ["type", "timestamp", "version", "data"],
    "additionalProperties": True,
    "properties": {
        "type": {"enum": [f"alerts.{kind}" for kind in KINDS]},
        "timestamp": {**_TYPES[datetime], "description": "When the notice was made."},
        "version": {"const": VERSION},
        "data": _object(Notice),
    },
}
