"""Secrets known by their name: ``password=x``, ``"s3.secret-key": "x"``, ``--token x``,
``<name>…</name><value>x</value>``.
"""

import re
from dataclasses import dataclass

from ingest.redaction.marks import MASK, is_harmless, is_quantity, looks_random
from ingest.redaction.names import NAME_WORD, Sort, sort_of
from ingest.redaction.values import LONGEST_QUOTED, Value, hidden, line_at, value_at

LONGEST_BEFORE = 80
_NAME_AFTER = re.compile(r"[\w\-]{0,60}(?:\.[\w\-]{1,60}){0,8}")
_QUOTE = r"""\\{0,8}["'`]|&quot;|&\#34;|&\#39;|%22"""
_SIGN = re.compile(
    rf"""(?P<quote>{_QUOTE})?\]?(?:[ \t]|(?<=["'`])\s){{0,40}}
    (?:=>|->|:=|={{1,2}}|:(?![:/]{{2}}|:)|：|＝|%3D|%3A)
    (?:[ \t]|(?<=["'`][:])\s|(?<=["'`]\s[:])\s){{0,40}}""",
    re.VERBOSE | re.IGNORECASE,
)
_COMMA = re.compile(r"(?P<quote>\\{0,8}[\"'`])?[ \t]{0,4},[ \t]{0,4}")
_SPACE = re.compile(
    r"[ \t]{1,20}(?![-\s])|[ \t]{0,4}\r?\n[^\n]{0,200}EnvironmentInformation[^\n]{0,40}? -[ "
    r"\t]{1,8}"
)
_ELEMENT = re.compile(r"""["']?(?:\s[^<>\n]{0,120})?>[ \t]{0,8}(?P<value>[^<>\n]{1,8192})</""")
_VALUE_OF = re.compile(
    r"""</(?:name|key)>\s{0,40}(?:<description>[^<>]{0,500}</description>\s{0,40})?
    <value>(?:<!\[CDATA\[)?
    |(?:\\{0,8}["'])?\s{0,40},?\s{0,40}(?:\\{0,8}["'])?\bvalue(?:\\{0,8}["'])?
    [ \t]{0,20}[:=][ \t]{0,20}""",
    re.VERBOSE,
)
_BEFORE_VALUE_OF = re.compile(
    r"""<(?:name|key)>\s{0,40}\Z
    |(?<![\w.])(?:name|key|id)(?:\\{0,8}["'])?[ \t]{0,20}[:=][ \t]{0,20}(?:\\{0,8}["'])?\Z""",
    re.VERBOSE,
)
_REVERSED = re.compile(
    r"""(?P<before>(?P<quote>\\{0,8}")value(?P=quote)\s{0,20}:\s{0,20}(?P=quote))
    (?P<value>(?:[^"\\\n]|\\(?!\\{0,8}")[^"\n]){1,4096}+)
    (?P<after>(?P=quote)\s{0,20},\s{0,20}(?P=quote)(?:key|name)(?P=quote)\s{0,20}:\s{0,20}
    (?P=quote)(?P<name>[\w.\-]{1,100})(?P=quote))""",
    re.VERBOSE,
)
_LINE_START = re.compile(
    r"(?:^|\n)[ \t]*(?:export[ ]|set[ ]|-[ ]|\#[ ]?|//[ ]?){0,2}[\"']?\Z", re.VERBOSE
)
_DUMP = re.compile(r"(?:[Pp]roperty|[Oo]ption|[Cc]onfig(?:uration)?)\w{0,10}:?[ ]{1,4}\Z")
_PARSER_MESSAGE = re.compile(
    r"(?:un(?:expected|recognized|known)|expected|next|current|last|first)[ ]\Z", re.IGNORECASE
)
_ORDINARY = frozenset(
    re.findall(
        r"\w+",
        """
        a an and are argument as by flag for from has if in into is must not of on option or the
        then to was when with
        """,
    )
)
_NETRC = re.compile(r"\blogin \S{1,30} \Z")
_NO_VALUE = re.compile(
    re.escape(MASK)
    + r"|\*{3}|\$\{[\w.:]{1,100}\}|\{\{[^{}\n]{1,100}\}\}|[|>][+\-]?\d?[ \t]*\r?\n[ \t]+\*{3}"
)
_FIRST_CHARS = 100


@dataclass(frozen=True, slots=True)
class _Place:
    at: int
    quote: str = ""
    whole_line: bool = False
    element: bool = False
    spaced: bool = False


def redact_pairs(text: str) -> str:
    """Idempotent; of every pair the name and the signs around the value stay."""
    pieces: list[str] = []
    done = at = 0
    while match := NAME_WORD.search(text, at):
        start = _beginning(text, match.start(), max(done, match.start() - LONGEST_BEFORE))
        after = _NAME_AFTER.match(text, match.end())
        at = after.end() if after else match.end()
        held = _held(text, start, at)
        if held is None:
            continue
        value, name_quote = held
        pieces += text[done : value.start], hidden(value, name_quote)
        done = at = value.end
    return _reversed("".join((*pieces, text[done:])) if pieces else text)


def _beginning(text: str, at: int, least: int) -> int:
    while at > least and (text[at - 1].isalnum() or text[at - 1] in "_.-"):
        at -= 1
    return at


def _held(text: str, start: int, end: int) -> tuple[Value, str] | None:
    """The secret that the name at ``start`` names, and what quotes the name."""
    name = text[start:end].rstrip(".-")
    sort = sort_of(name.lstrip("-"))
    if (
        sort is None
        or (start and text[start - 1] == "$")
        or _PARSER_MESSAGE.search(text, max(0, start - 16), start)
    ):
        return None
    place = _place(text, start, start + len(name), name)
    if place is None or _NO_VALUE.match(text, place.at):
        return None
    value = _value(text, place, sort)
    return (
        (value, place.quote)
        if value is not None and not is_harmless(value.inner) and _is_secret(sort, value.inner)
        else None
    )


def _place(text: str, start: int, end: int, name: str) -> _Place | None:
    before = text[max(0, start - 40) : start]
    if _BEFORE_VALUE_OF.search(before) and (match := _VALUE_OF.match(text, end)):
        return _Place(match.end(), element=text[match.end() - 1] in ">[")
    line_start = _LINE_START.search(text, max(0, start - LONGEST_BEFORE), start) is not None
    if match := _SIGN.match(text, end):
        return _Place(
            match.end(), match["quote"] or "", whole_line=line_start and not match["quote"]
        )
    if match := _COMMA.match(text, end):
        quoted = bool(match["quote"]) and text[match.end() : match.end() + 9].lstrip("\\")[:1] in (
            "'",
            '"',
            "`",
        )
        dumped = not match["quote"] and (
            _DUMP.search(before) is not None
            or ("." in name and line_start and _alone(text, match.end()))
        )
        return _Place(match.end(), whole_line=dumped) if quoted or dumped else None
    if before[-1:] in ("<", '"', "'") and (match := _ELEMENT.match(text, end)):
        return _Place(match.start("value"), element=True)
    if match := _SPACE.match(text, end):
        quoted = "passw" in name.lower() and text[match.end() : match.end() + 1] in ("'", '"')
        if name.startswith("-") or quoted or (name == "password" and _NETRC.search(before)):
            return _Place(match.end(), spaced=not quoted, whole_line="\n" in match[0])
    return None


def _value(text: str, place: _Place, sort: Sort) -> Value | None:
    if place.element:
        end = text.find("<", place.at, place.at + LONGEST_QUOTED)
        inner = text[place.at : end].strip() if end > place.at else ""
        return Value(place.at, end, inner, quoted=True) if inner else None
    if sort is Sort.LINE:
        return line_at(text, place.at)
    value = value_at(text, place.at, whole_line=place.whole_line, most=_FIRST_CHARS)
    if (
        value
        and not value.quoted
        and value.end - value.start >= _FIRST_CHARS
        and _is_secret(sort, value.inner)
    ):
        value = value_at(text, place.at, whole_line=place.whole_line)
    return None if value and place.spaced and value.inner.lower() in _ORDINARY else value


def _is_secret(sort: Sort, value: str) -> bool:
    if sort is Sort.COUNTED:
        return not is_quantity(value)
    if sort is Sort.PATH:
        return not value.startswith(("/", "./", "~")) and not is_quantity(value)
    return sort is not Sort.WORD or looks_random(value)


def _alone(text: str, at: int) -> bool:
    end = text.find("\n", at, at + 500)
    return len(text[at : end if end >= 0 else at + 500].split(None, 1)) == 1


def _reversed(text: str) -> str:
    """``"value": "x", "key": "s3.secret-key"``."""
    if '"value' not in text:
        return text

    def hide(match: re.Match[str]) -> str:
        secret = sort_of(match["name"]) is not None and not is_harmless(match["value"])
        return f"{match['before']}{MASK}{match['after']}" if secret else match[0]

    return _REVERSED.sub(hide, text)
