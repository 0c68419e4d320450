"""A problem of Weir itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """``code`` is stable; ``detail`` is for people, in English and UTC: it is kept, and pages show
    it by ``|translated|in_zone``.
    """

    code: str
    subject: str
    detail: str
