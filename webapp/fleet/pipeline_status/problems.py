from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """``code`` never changes; ``detail`` is in English and UTC, for ``|translated|in_zone``."""

    code: str
    subject: str
    detail: str
