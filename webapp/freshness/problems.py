"""One thing about Weir itself that is not as it should be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """``code`` is stable, ``detail`` is for people."""

    code: str
    subject: str
    detail: str
