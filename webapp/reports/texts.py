"""Makes texts of logs and people safe for reports: short, redacted, without marks of direction."""

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

from django.utils.functional import Promise

from ingest.messages import Message, with_texts
from ingest.redaction.texts import redact
from webapp.analyses.document import Column, Link

NAME, SENTENCE, TRACE = 200, 400, 2_500
"""The most letters of a name, of a text in a sentence, of a trace; longer texts end with '…'."""

_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of the text after them."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _DIRECTION_MARKS.sub("\ufffd", _CONTROLS.sub("\ufffd", lines))


def fit(value: Any) -> Any:
    """A report or a part of it, with safe texts. Links become their texts."""
    if isinstance(value, Message):
        return with_texts(value, lambda text: bounded(text, SENTENCE))
    if isinstance(value, str | Promise):
        return bounded(str(value), TRACE)
    if isinstance(value, Link):
        return fit(value.text)
    if isinstance(value, Column):
        return replace(value, unit="text") if value.unit == "host" else value
    if isinstance(value, tuple):
        return tuple(map(fit, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{field.name: fit(getattr(value, field.name)) for field in fields(value)}
        )
    return value


def bounded(text: str, longest: int = SENTENCE) -> str:
    # Texts may be megabytes. The first cut leaves enough to recognise a secret at the end.
    redacted = redact(clean(text[: 4 * longest + 200]))
    return redacted if len(redacted) <= longest else redacted[: longest - 1].rstrip() + "…"


def name(text: str | None, default: str = "") -> str:
    """The name of a job, a vertex or a host in one line."""
    chosen = text or default
    return chosen if isinstance(chosen, Message) else " ".join(bounded(chosen, NAME).split())
