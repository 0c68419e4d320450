"""Bots of Feishu and Lark: a card of plain text, optionally signed."""

import base64
import hashlib
import hmac
from datetime import datetime
from typing import Any

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body, json_size
from webapp.delivery.formats.bots import code_is_zero
from webapp.delivery.formats.texts import block, cut, cut_bytes, fit_texts, line, mark
from webapp.delivery.notices import RESOLVED, Notice, NoticeAlert
from webapp.delivery.titles import leading, severity_of, title_of
from webapp.lib.translations import gettext_lazy as _

MOST_BYTES = 18_000
"""Feishu's limit is 20 KB."""
_COLOURS = {"critical": "red", "warning": "orange", "info": "blue", RESOLVED: "green"}


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    half = MOST_BYTES // 2
    text = fit_texts(notice, _block, half, json_size)
    lead = leading(notice)
    elements: list[dict[str, Any]] = [
        {"tag": "div", "text": {"tag": "plain_text", "content": cut_bytes(text, half)}}
    ]
    if lead and lead.links.get("alert"):
        button = {
            "tag": "button",
            "text": {"tag": "plain_text", "content": "Open in Weir"},
            "url": lead.links["alert"],
            "type": "default",
        }
        elements.append({"tag": "action", "actions": [button]})
    card = {
        "config": {"wide_screen_mode": True},
        "header": {
            "title": {"tag": "plain_text", "content": cut(title_of(notice), 200)},
            "template": _COLOURS[severity_of(notice)],
        },
        "elements": elements,
    }
    return Outgoing(
        to.url,
        json_body(
            {**_signature_fields(to.credential, at), "msg_type": "interactive", "card": card}
        ),
        JSON,
    )


def _block(alert: NoticeAlert) -> str:
    return block(alert, f"{mark(alert)}  {line(alert.title, 250)}", str, "Next:", "")


def signature(secret: str, timestamp_s: int) -> str:
    """By the documentation of bots, the key is timestamp and secret, and the message is empty."""
    return base64.b64encode(
        hmac.new(f"{timestamp_s}\n{secret}".encode(), b"", hashlib.sha256).digest()
    ).decode()


def _signature_fields(secret: str, at: datetime) -> dict[str, str]:
    timestamp_s = int(at.timestamp())
    return {"timestamp": str(timestamp_s), "sign": signature(secret, timestamp_s)} if secret else {}


FORMAT = Format(
    "feishu",
    render,
    refused=code_is_zero("code", "StatusCode"),
    credential=_("Signing key of the bot (if it checks signatures)"),
)
