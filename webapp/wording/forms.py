"""The form of a stored sentence: what is always the same in it, and what kind of value stands in each gap."""

import re
from dataclasses import dataclass

NUMBER, FIGURE, NAME, NAMES, PHRASE, FOREIGN = "DFNLPX"
"""A number; one with its unit, or a span of time; a name that others gave; several; words of ours, translated in turn; what others said."""

_HAN = re.compile("[\u4e00-\u9fff]")
_FULL_WIDTH = re.compile("[\u3001-\u301f\uff01-\uff5e\u201c\u201d]")
_LATIN = re.compile("[A-Za-z0-9%\ue000-\uf7ff]")
_GAP = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"(?<![\w{])[A-Za-z][\w'-]*(?![\w}])")
_NUMBER = re.compile(r"[<>]? ?[-+]?[\d,.]+(?:e[-+]?\d+)?|inf|nan")
_SPAN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: – (?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d)? UTC"
_FIGURE = re.compile(rf"{_SPAN}|[<>]? ?[-+]?[\d,.]+ (?:TB|GB|MB|kB|bytes|d|h|min|s|ms|%)(?: [\d,.]+ (?:h|min|s|ms))?")


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
    """None where the translation has not a gap for each value: nothing of a text is lost. Chinese stands beside Chinese without a space."""
    pieces = _GAP.split(translated)
    if set(pieces[1::2]) != set(values):
        return None
    shown = pieces[0]
    for at in range(1, len(pieces), 2):
        shown = _beside(_beside(shown, values[pieces[at]]), pieces[at + 1])
    return shown.strip()


def _beside(left: str, right: str) -> str:
    if not left or not right:
        return left + right
    bare_left, bare_right = left.rstrip(" "), right.lstrip(" ")
    if not bare_left or not bare_right:
        return left + right
    ends, begins = bare_left[-1], bare_right[0]
    if _FULL_WIDTH.match(ends) or _FULL_WIDTH.match(begins) or (_HAN.match(ends) and _HAN.match(begins)):
        return bare_left + bare_right
    if (_HAN.match(ends) and _LATIN.match(begins)) or (_LATIN.match(ends) and _HAN.match(begins)):
        return f"{bare_left} {bare_right}"
    return left + right


def fits(kind: str, value: str) -> bool:
    if kind == NUMBER:
        return _NUMBER.fullmatch(value) is not None
    if kind == FIGURE:
        return _FIGURE.fullmatch(value) is not None
    return bool(value.strip()) or kind in (PHRASE, FOREIGN)
