"""A format makes a request of a notice, and reads the answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webapp.delivery.notices import Notice


@dataclass(frozen=True)
class Addressee:
    """``secrets``: those with which Weir signs, newest first; ``credential``: the receiver's."""

    url: str
    message_id: str
    credential: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    emails: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outgoing:
    url: str = field(repr=False)
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Mail:
    to: tuple[str, ...]
    subject: str
    text: str
    message_id: str


Rendered = Outgoing | Mail
Render = Callable[[Notice, Addressee, datetime], Rendered]


@dataclass(frozen=True)
class Format:
    """``refused`` reads the body of a 2xx answer: "" if accepted, else a code. ``keeps_state``: the
    receiver has a state, which an older notice after a newer one would revert.
    """

    name: str
    render: Render
    refused: Callable[[bytes], str] = lambda _body: ""
    pause_in: Callable[[bytes], str] = lambda _body: ""
    """Reads the body of a refusal: the seconds of pause that it asks for, as in ``retry-after``."""
    keeps_state: bool = False
    for_machines: bool = False
    """Weir signs. Machines get every alert, in parts if needed; people get the first alerts."""
    credential: str = ""
    """Label of the receiver's credential; "" if it has none."""
    credential_required: bool = False
    default_url: str = ""
    address_has: str = ""
    """A part without which an address is refused."""


def json_body(document: Mapping[str, Any] | list[Any]) -> bytes:
    """NUL, which some receivers refuse, is replaced."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\\u0000", "\\ufffd").encode(errors="replace")


def json_size(text: str) -> int:
    """Bytes of ``text`` in a body."""
    return len(json_body([text]))


JSON = {"content-type": "application/json; charset=utf-8"}
