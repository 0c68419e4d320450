"""What a search gives: groups of links."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_OF_GROUP = 8


@dataclass(frozen=True)
class Hit:
    """``detail`` tells hits of one title apart."""

    title: str
    url: str
    detail: str = ""


@dataclass(frozen=True)
class Group:
    """``note``: what was understood, or why nothing is linked."""

    title: str
    hits: Sequence[Hit] = ()
    note: str = ""
