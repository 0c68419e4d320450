"""Texts of logs and of people, made fit to leave the house: bounded, without secrets, and unable to
turn a line around.
"""

import re

from ingest.messages import Message
from ingest.redaction.marks import MASK
from ingest.redaction.names import holds_secret
from ingest.redaction.texts import redact

NAME, SENTENCE, PARAGRAPH, TRACE = 200, 400, 1_500, 2_500
"""Letters of a name, a title, a cause, a stack trace; what is longer ends in '…'."""

_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of what follows them."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """Without characters that a page would show as nothing or as something else."""
    return _TURNS.sub(
        "\ufffd", _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    )


def bounded(text: object, longest: int = SENTENCE) -> str:
    """Fit for a report; empty for unknown."""
    if text is None:
        return ""
    if isinstance(text, Message):
        return redact(text)
    # Cut first, generously: a secret is not looked for in megabytes, and one that is cut in half is
    # still found.
    whole = redact(clean(str(text)[: 4 * longest + 200]))
    return whole if len(whole) <= longest else whole[: longest - 1].rstrip() + "…"


def name(text: object, otherwise: object = "") -> str:
    """One line: a job, a vertex, a host."""
    return " ".join(bounded(text or otherwise, NAME).split())


def setting(key: object, value: object) -> tuple[str, str]:
    """A line of configuration; values of keys that hold secrets are masked whatever they are."""
    shown = (
        "yes"
        if value is True
        else "no"
        if value is False
        else "–"
        if value is None or value == ""
        else str(value)
    )
    return name(key), MASK if holds_secret(str(key)) and value else bounded(shown, SENTENCE)
