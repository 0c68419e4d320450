"""Makes texts of logs and people safe for reports: bounded, redacted, without text direction marks."""

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

from django.utils.functional import Promise

from ingest.messages import Message, with_texts
from ingest.redaction.texts import redact
from webapp.analyses.document import Column, Link

NAME, SENTENCE, TRACE = 200, 400, 2_500
"""Letters of a name, of what a sentence quotes, of a stack trace; what is longer ends in '…'."""

_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of what follows them."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without invisible or misleading characters."""
    return _TURNS.sub(
        "\ufffd", _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    )


def fit(value: Any) -> Any:
    """A report, or a part of one, with all texts made safe; links become their texts."""
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
    # First cut generously: secrets are not searched in megabytes, and one cut in half is still
    # found.
    whole = redact(clean(text[: 4 * longest + 200]))
    return whole if len(whole) <= longest else whole[: longest - 1].rstrip() + "…"


def name(text: str | None, otherwise: str = "") -> str:
    """One line: a job, a vertex, a host."""
    chosen = text or otherwise
    return chosen if isinstance(chosen, Message) else " ".join(bounded(chosen, NAME).split())
