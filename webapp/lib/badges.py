"""How pages show a state: by word, shape and tone, never by colour alone."""

from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext

Tone = Literal["ok", "warn", "crit", "unknown", "done"]

SHAPES = {"crit": "✕", "warn": "◆", "ok": "●", "done": "■"}


@dataclass(frozen=True)
class Badge:
    """``english``: the word before translation; ``shape``: one character; ``tone`` names colours in
    ``tokens.css``.
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
    """The badge, without tone and shape of "ok" if the current state is unknown."""
    if is_known or badge.tone != "ok":
        return badge
    return Badge(badge.english, UNKNOWN.shape, UNKNOWN.tone)
