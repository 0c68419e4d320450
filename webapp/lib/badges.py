"""A state as shown: word, shape and tone together, never colour alone."""

from dataclasses import dataclass
from typing import Literal

Tone = Literal["ok", "warn", "crit", "unknown", "done"]


@dataclass(frozen=True)
class Badge:
    """``shape`` is one character; ``tone`` names the colours in ``tokens.css``."""

    word: str
    shape: str
    tone: Tone


UNKNOWN = Badge("unknown", "?", "unknown")


def as_far_as_known(badge: Badge, is_known: bool) -> Badge:
    """What was good when it was last looked at is not shown as good where nobody knows whether it still is."""
    return badge if is_known or badge.tone != "ok" else Badge(badge.word, UNKNOWN.shape, UNKNOWN.tone)
