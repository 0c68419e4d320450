"""Turns a log4j ``PatternLayout`` into a regular expression for the first line of a record.

It takes bounded time on any line: repetitions are possessive, and a text is in an atomic group and
ends at the first match of the next part.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ingest.errors import Refused
from ingest.messages import message

_DATE_FORMATS = {
    "": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT_MICROS": "yyyy-MM-dd HH:mm:ss,SSSSSS",
    "DEFAULT_PERIOD": "yyyy-MM-dd HH:mm:ss.SSS",
    "ISO8601": "yyyy-MM-dd'T'HH:mm:ss,SSS",
    "ISO8601_PERIOD": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
}
_LETTERS = {
    "yyyy": ("y", 4),
    "yy": ("y", 2),
    "MM": ("M", 2),
    "dd": ("d", 2),
    "HH": ("H", 2),
    "mm": ("m", 2),
    "ss": ("s", 2),
}
_TOKEN = re.compile(r"'[^']*'|([A-Za-z])\1*+|[^A-Za-z']+")


@dataclass(frozen=True)
class LogDate:
    """``second`` matches the time up to the second, with a group for each letter of ``parts``
    (``yMdHms``). ``after_second`` matches what follows.
    """

    second: str
    parts: str
    after_second: str
    has_fraction: bool
    zone: str

    @property
    def regex(self) -> str:
        return f"({self.second.replace('([', '[').replace('})', '}')}){self.after_second}"

    @property
    def begins_with_year(self) -> bool:
        return self.second.startswith("([0-9]{4})")


def unreadable_layout(pattern: str, why: str) -> Refused:
    return Refused(
        message(
            "The log layout {pattern:text} cannot be read: {why:text}. Use 'flink' or a log4j "
            "pattern with %d and %m.",
            pattern=f"{pattern!r}",
            why=why,
        )
    )


def date_of(layout: str, options: list[str]) -> LogDate:
    name = options[0] if options else ""
    pattern = _DATE_FORMATS.get(name, name)
    second = parts = after_second = ""
    has_fraction = False
    for token in (match[0] for match in _TOKEN.finditer(pattern)):
        if token in _LETTERS and not has_fraction:
            letter, digits = _LETTERS[token]
            parts += letter
            second += f"{after_second}([0-9]{{{digits}}})"
            after_second = ""
        elif set(token) == {"S"} and len(parts) == 6 and not has_fraction:
            after_second += f"([0-9]{{{len(token)}}})"
            has_fraction = True
        elif token[0].isalpha():
            raise unreadable_layout(
                layout,
                message(
                    "its date has {token:text}; only years to fractions of a second in digits are "
                    "supported",
                    token=f"{token!r}",
                ),
            )
        else:
            after_second += re.escape(token.strip("'"))
    if sorted(parts) != sorted("yMdHms"):
        raise unreadable_layout(
            layout,
            message(
                "its date {pattern:text} lacks the day or the time of day", pattern=f"{pattern!r}"
            ),
        )
    return LogDate(
        second, parts, after_second, has_fraction, options[1] if len(options) > 1 else ""
    )


LONGEST_PATTERN = 500
MOST_PARTS = 20

_CONVERTER = re.compile(r"%(?:-?[0-9]+)?(?:\.-?[0-9]+)?([A-Za-z]+|%)((?:\{[^{}]*\})*)")
_CONVERSIONS = {
    "date": "d date",
    "level": "p level le",
    "logger": "c logger lo",
    "word": "C class L line M method F file r relative pid processId T tid threadId tp "
    "threadPriority sn sequenceNumber",
    "message": "m msg message",
    "end": "n ex throwable xEx",
    "text": "t tn thread threadName x NDC X mdc MDC l location",
}
_KINDS = {name: kind for kind, names in _CONVERSIONS.items() for name in names.split()}
_UNBOUNDED = ("logger", "word", "text")
_SPACES = " {1,200}+"
_PADDING = " {0,200}+"
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._$-")


class _Part(NamedTuple):
    kind: str
    text: str


class CompiledPattern(NamedTuple):
    opening: str
    header: str
    groups: tuple[str, ...]
    second_regex: str
    second_parts: str
    zone: str


def compile_pattern(pattern: str) -> CompiledPattern:
    if len(pattern) > LONGEST_PATTERN:
        raise unreadable_layout(
            f"{pattern[:LONGEST_PATTERN]}…",
            message(
                "it is longer than {longest_pattern:number} characters",
                longest_pattern=LONGEST_PATTERN,
            ),
        )
    parts, options = _parts(pattern)
    _require_ends(pattern, parts)
    date = date_of(pattern, options)
    opening = ""
    if (
        date.begins_with_year
        and "date" in (parts[0].kind, parts[1].kind)
        and parts[0].kind in ("date", "literal")
    ):
        opening = (parts.pop(0).text if parts[0].kind == "literal" else "") + "20"
    header, groups = _header(parts, date)
    second = date.second
    if opening:
        header, second = (regex.replace("[0-9]{4}", "[0-9]{2}", 1) for regex in (header, second))
    return CompiledPattern(opening, f"^{header}", groups, second, date.parts, date.zone)


def _parts(pattern: str) -> tuple[list[_Part], list[str]]:
    parts: list[_Part] = []
    options: list[str] | None = None
    at = 0
    for match in _CONVERTER.finditer(pattern):
        _add_literal(parts, pattern[at : match.start()])
        at = match.end()
        name = match[1]
        kind = "literal" if name == "%" else _KINDS.get(name)
        if kind is None:
            raise unreadable_layout(
                pattern, message("it has %{name:name}, which is not supported", name=name)
            )
        if kind == "literal":
            _add_literal(parts, "%")
        elif kind != "end":
            parts.append(_Part(kind, f"%{name}"))
        if kind == "message":
            break
        if kind == "date":
            if options is not None:
                raise unreadable_layout(pattern, message("it has two dates"))
            options = re.findall(r"\{([^{}]*)\}", match[2])
    else:
        raise unreadable_layout(pattern, message("it has no message (%m)"))
    if options is None:
        raise unreadable_layout(pattern, message("it has no date (%d) before the message"))
    return parts, options


def _add_literal(parts: list[_Part], text: str) -> None:
    if text and parts and parts[-1].kind == "literal":
        text = parts.pop().text + text
    if text:
        parts.append(_Part("literal", text))


def _require_ends(pattern: str, parts: Sequence[_Part]) -> None:
    if sum(part.kind != "literal" for part in parts) > MOST_PARTS:
        raise unreadable_layout(
            pattern,
            message("it has more than {most_parts:number} conversions", most_parts=MOST_PARTS),
        )
    for part, following in pairwise(parts):
        if part.kind in _UNBOUNDED and following.kind not in ("literal", "message"):
            raise unreadable_layout(
                pattern,
                message(
                    "there is no text between {written:name} and {written2:name}, so the end "
                    "of the first one is ambiguous: write the text that is printed between "
                    "them, or one %x for both",
                    written=part.text,
                    written2=following.text,
                ),
            )


def _header(parts: Sequence[_Part], date: LogDate) -> tuple[str, tuple[str, ...]]:
    regex = ""
    groups: list[str] = []
    is_text_open = False
    for index, part in enumerate(parts[:-1]):
        if part.kind == "literal":
            regex += _literal(parts, index)
        elif part.kind == "date":
            regex += date.regex
            groups += ["second", *(["fraction"] if date.has_fraction else [])]
        elif part.kind == "text":
            regex += ")" * is_text_open + r"(?>[^\n]{0,300}?"
            is_text_open = True
        else:
            if _may_have_space(parts, index) and index and parts[index - 1].text.endswith(" "):
                # Without a value, the next literal follows at once.
                regex += f"(?:(?!{_literal(parts, index + 1)}){_PADDING})?+"
            regex += _word(part.kind, parts[index + 1 :])
            groups += [part.kind] if part.kind in ("level", "logger") else []
    return regex + ")" * is_text_open, tuple(groups)


def _literal(parts: Sequence[_Part], index: int) -> str:
    text = parts[index].text
    last_space = " " if text.endswith(" ") and _may_have_space(parts, index + 1) else ""
    text = text.rstrip(" ") if last_space else text
    return re.sub(" +", _SPACES, re.sub(r"[][\\.^$*+?{}|()]", r"\\\g<0>", text)) + last_space


def _may_have_space(parts: Sequence[_Part], index: int) -> bool:
    kind = parts[index].kind
    if kind not in ("logger", "word"):
        return kind == "text"
    following = parts[index + 1]
    return (
        following.kind == "literal"
        and following.text.startswith(" ")
        and bool(following.text.strip(" "))
    )


def _word(kind: str, following: Sequence[_Part]) -> str:
    """A word ends at the first character of the text that follows, or at the last of these
    characters if the word may contain it.
    """
    end = following[0].text[0] if following[0].kind == "literal" else ""
    later_ends = _later_ends(following)
    if kind == "level":
        is_last, regex = end.isupper(), "[A-Z]{1,20}"
    else:
        is_last = (end in _NAME_CHARS or not end.isascii()) and end not in later_ends
        excluded = later_ends if is_last else end.strip(" ")
        regex = rf"[^ \n{''.join(map(re.escape, excluded))}]{{0,300}}"
    regex += "" if is_last else "+"
    if kind != "word":
        regex = f"({regex})"
    if end != " ":
        regex += _PADDING
    return f"(?>{regex}(?={re.escape(end)}))" if is_last else regex


def _later_ends(following: Sequence[_Part]) -> str:
    """First characters of later literals, up to the first space."""
    ends = ""
    for index, (kind, text) in enumerate(following):
        if kind not in ("literal", "level", "logger", "word"):
            break
        if kind == "literal":
            ends += text[0] if index and text[0].isascii() else ""
            if " " in text:
                break
    return ends.replace(" ", "")
