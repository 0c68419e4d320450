"""A state as shown: word, shape and tone together, never colour alone."""

from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext

Tone = Literal["ok", "warn", "crit", "unknown", "done"]


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
    """What was good when it was last looked at is not shown as good if nobody knows whether it
    still is.
    """
    return (
        badge
        if is_known or badge.tone != "ok"
        else Badge(badge.english, UNKNOWN.shape, UNKNOWN.tone)
    )
