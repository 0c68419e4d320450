"""The type of formats: a pure function from a notice to one request, and a reader of the answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webapp.delivery.notices import Notice


@dataclass(frozen=True)
class Addressee:
    """The receiver. ``secrets`` for signatures, the newest first; ``credential``: issued by the
    receiving system.
    """

    url: str
    message_id: str
    credential: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    emails: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outgoing:
    """One POST. The address may contain a password, so it is not shown."""

    url: str = field(repr=False)
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Mail:
    """One message with both bodies."""

    to: tuple[str, ...]
    subject: str
    text: str
    html: str
    message_id: str


Rendered = Outgoing | Mail
Render = Callable[[Notice, Addressee, datetime], Rendered]


def taken(body: bytes) -> str:
    return ""


@dataclass(frozen=True)
class Format:
    """``refused`` reads the body of a 2xx answer: "" if the notice was accepted, else why not.
    ``keeps_state``: the receiver keeps the group's state, which an older notice after a newer one
    would revert.
    """

    name: str
    render: Render
    refused: Callable[[bytes], str] = taken
    keeps_state: bool = False
    for_machines: bool = False
    """Weir creates a secret and signs. Machines get every alert of a notice, if needed in several
    parts; people get the number of omitted ones.
    """
    credential: str = ""
    """The form's name of the receiver's credential; "" if it has none."""
    credential_required: bool = False
    default_url: str = ""
    url_help: str = ""


def json_body(document: Mapping[str, Any] | list[Any]) -> bytes:
    """UTF-8, without characters that no receiver can read."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\\u0000", "\\ufffd").encode(errors="replace")


JSON = {"content-type": "application/json; charset=utf-8"}
