"""The result of a search: groups of links."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_OF_GROUP = 8


@dataclass(frozen=True)
class Hit:
    """``detail`` distinguishes hits with the same title."""

    title: str
    url: str
    detail: str = ""


@dataclass(frozen=True)
class Group:
    """``note``: why there are no hits."""

    title: str
    hits: Sequence[Hit] = ()
    note: str = ""


def has_words(text: str, words: Iterable[str]) -> bool:
    lower = text.lower()
    return all(word.lower() in lower for word in words)
