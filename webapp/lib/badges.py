"""A displayed state: word, shape and tone, never colour alone."""

from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext

Tone = Literal["ok", "warn", "crit", "unknown", "done"]

SHAPES = {"crit": "✕", "warn": "◆", "ok": "●", "done": "■"}
"""Of counts and moments, by tone."""


@dataclass(frozen=True)
class Badge:
    """``english``: its word, as declared.

    ``shape`` is one character; ``tone`` names the colours in ``tokens.css``.
    """

    english: str
    shape: str
    tone: Tone

    @property
    def word(self) -> str:
        return gettext(self.english) if self.english else ""

    @property
    def is_unknown(self) -> bool:
        return self == UNKNOWN


UNKNOWN = Badge("unknown", "?", "unknown")


def as_far_as_known(badge: Badge, is_known: bool) -> Badge:
    """The badge, but not a good one if the current state is unknown."""
    if is_known or badge.tone != "ok":
        return badge
    return Badge(badge.english, UNKNOWN.shape, UNKNOWN.tone)
