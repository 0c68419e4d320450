"""Robots of DingTalk: Markdown, optionally signed in the URL."""

import base64
import hashlib
import hmac
from datetime import datetime
from urllib.parse import quote

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body, json_size
from webapp.delivery.formats.bots import code_is_zero, linked_block, widened, with_query
from webapp.delivery.formats.texts import cut, cut_bytes, fit_texts
from webapp.delivery.notices import Notice
from webapp.delivery.titles import title_of
from webapp.lib.translations import gettext_lazy as _

MOST_BYTES = 15_000
"""DingTalk's limit is 20,000 bytes."""


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    title = cut(title_of(notice), 120)
    # In DingTalk's Markdown, only two spaces and a line end begin a new line.
    text = f"### Weir: {widened(title)}\n\n" + fit_texts(
        notice, linked_block, MOST_BYTES, json_size
    ).replace("\n", "  \n")
    message = {"title": f"Weir: {title}", "text": cut_bytes(text, MOST_BYTES)}
    document = {"msgtype": "markdown", "markdown": message, "at": {"isAtAll": False}}
    return Outgoing(signed_url(to.url, to.credential, at), json_body(document), JSON)


def signed_url(url: str, secret: str, at: datetime) -> str:
    if not secret:
        return url
    timestamp_ms = int(at.timestamp() * 1000)
    sign = quote(signature(secret, timestamp_ms), safe="")
    return with_query(url, f"timestamp={timestamp_ms}&sign={sign}")


def signature(secret: str, timestamp_ms: int) -> str:
    signed = f"{timestamp_ms}\n{secret}".encode()
    return base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()


FORMAT = Format(
    "dingtalk",
    render,
    refused=code_is_zero("errcode"),
    credential=_("Signing key of the robot (if it checks signatures)"),
)
