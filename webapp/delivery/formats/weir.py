"""Weir's JSON (``reference/notice.schema.json`` of the documentation), signed as Standard Webhooks
specify.
"""

import json
from datetime import datetime
from typing import Any

from webapp.delivery import signing
from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.notices import Notice

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
