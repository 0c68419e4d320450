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
