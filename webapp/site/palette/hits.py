"""What a search gives: groups of links."""

from collections.abc import Iterable, Sequence
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
    """``note``: why nothing is linked."""

    title: str
    hits: Sequence[Hit] = ()
    note: str = ""


def has_words(text: str, words: Iterable[str]) -> bool:
    lower = text.lower()
    return all(word.lower() in lower for word in words)
