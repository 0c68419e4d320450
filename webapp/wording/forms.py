"""The form of a stored sentence: what is always the same in it, and what kind of value stands in each gap."""

import re
from dataclasses import dataclass

NUMBER, FIGURE, NAME, NAMES, PHRASE = "DFNLP"
"""A number; a number with its unit; a name that others gave; several of them; words of ours (or none), translated in turn."""

_GAP = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"(?<![\w{])[A-Za-z][\w'-]*(?![\w}])")
_NUMBER = re.compile(r"[<>]? ?[-+]?[\d,.]+(?:e[-+]?\d+)?|inf|nan")
_FIGURE = re.compile(r"[<>]? ?[-+]?[\d,.]+ (?:TB|GB|MB|kB|bytes|d|h|min|s|ms|%)")


@dataclass(frozen=True, slots=True)
class Form:
    """``parts`` are one more than ``gaps``: what stands before, between and after the values; ``kinds`` has a letter for each gap."""

    msgid: str
    parts: tuple[str, ...]
    gaps: tuple[str, ...]
    kinds: str

    @property
    def weight(self) -> int:
        """Letters that are always the same: of two forms that fit a text, the heavier one says more about it."""
        return sum(map(len, self.parts))

    @property
    def words(self) -> list[str]:
        """Whole words that every text of this form has."""
        return list(_WORD.findall(_GAP.sub("{}", self.msgid)))


def form_of(msgid: str, kinds: str) -> Form:
    pieces = _GAP.split(msgid)
    return Form(msgid, tuple(pieces[::2]), tuple(pieces[1::2]), kinds)


def words_of(text: str) -> set[str]:
    return set(_WORD.findall(text))


def put_in(translated: str, values: dict[str, str]) -> str | None:
    """None where the translation has not a gap for each value: nothing of a text is lost."""
    if set(_GAP.findall(translated)) != set(values):
        return None
    return _GAP.sub(lambda gap: values[gap[1]], translated)


def fits(kind: str, value: str) -> bool:
    if kind == NUMBER:
        return _NUMBER.fullmatch(value) is not None
    if kind == FIGURE:
        return _FIGURE.fullmatch(value) is not None
    return bool(value.strip()) or kind == PHRASE
