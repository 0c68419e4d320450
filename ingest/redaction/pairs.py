"""Masks secrets that have a name: ``password=x``, ``"s3.secret-key": "x"``, ``--token x``,
``<name>…</name><value>x</value>``.
"""

import json
import re
from typing import NamedTuple

from ingest.redaction.marks import MASK, is_harmless, is_quantity, looks_random
from ingest.redaction.names import NAME_WORD, Secrecy, secrecy_of

LONGEST_QUOTED = 16_384
LONGEST_NESTED = 4_096
MOST_WORDS = 6
"""``password: correct horse battery staple`` is a passphrase; more words are a sentence."""

_OPENS = re.compile(
    r"""(?:[bru]{1,2}(?=["']))?(?P<quote>\\{0,8}["'`]|&quot;|&\#34;|&\#39;|%22)""", re.VERBOSE
)
_ENDS = re.compile(
    r"""[\s，。；、）】」》]|[,;&](?=amp;|[\w.\-]{1,60}\ ?[=:]|\s|["'\\]|$)
    |(?<!\\)\\*+["'`](?=[\s,;:)\]}>&."'`\\]|$)|<|%22|%26
    |[)\]}](?=[\s,;.:)\]}"'`\\]|$)""",
    re.VERBOSE,
)
_ANOTHER_PAIR = re.compile(
    r"""[,;&]\s{0,4}["']?[\w.\-]{1,60}["']?\s?[=:]|\s[\w.\-]{1,60}=|["'<>{}\[\]，。；]"""
)
_JSON = json.JSONDecoder()
_CLOSING = {sign: re.compile(rf"(?<!\\)(\\*+){sign}") for sign in "\"'`"}
_DOUBLE_QUOTE = _CLOSING['"']
_NO_LINE = re.compile(r"[\[{]|(?:null|true|false|-?\d[\d.eE+\-]*)[ \t]*(?:[,}\]\r\n]|$)")
_BLOCK = re.compile(r"[|>][+\-]?\d?[ \t]*\r?\n(?P<lines>(?:[ \t]+[^\n]{0,8192}(?:\n|\Z)){1,200})")
_SCHEME = re.compile(
    r"(?:bearer|basic|token|apikey|negotiate|ntlm|sso-key|sharedkey(?:lite)?)[ \t]{1,4}(?=\S)",
    re.IGNORECASE,
)


class Value(NamedTuple):
    """``text[start:end]`` is hidden. ``inner``: without quotes. ``whole``: a JSON list or object."""

    start: int
    end: int
    inner: str
    quoted: bool = False
    whole: bool = False


def value_at(
    text: str, at: int, *, whole_line: bool = False, most: int | None = None
) -> Value | None:
    """``whole_line``: nothing else is on the line. ``most``: longest value without quotes."""
    if at >= len(text):
        return None
    if opened := _OPENS.match(text, at):
        return _quote(text, opened.end(), opened["quote"])
    if whole_line and (block := _BLOCK.match(text, at)):
        end = block.start("lines") + len(block["lines"].rstrip())
        inner = block["lines"].strip()
        return Value(end - len(inner), end, inner)
    if text[at] == "[" or text[at] == "{":
        return _bracketed_value(text, at)
    end = _value_end(text, at, len(text) if most is None else min(len(text), at + most))
    line_end = _line_end(text, at)
    line = text[at:line_end].rstrip() if whole_line else ""
    if line and len(line.split(None, MOST_WORDS)) <= MOST_WORDS and not _ANOTHER_PAIR.search(line):
        end = at + len(line)
    return Value(at, end, text[at:end]) if end > at else None


def line_at(text: str, at: int) -> Value | None:
    """The value up to the end of the line or quotation, without a scheme such as ``Bearer``."""
    if _NO_LINE.match(text, at):
        return value_at(text, at)
    if scheme := _SCHEME.match(text, at):
        value = value_at(text, scheme.end())
        return value if value and not value.quoted else None
    if opened := _OPENS.match(text, at):
        value = _quote(text, opened.end(), opened["quote"])
        if scheme := _SCHEME.match(value.inner):
            return Value(
                value.start + scheme.end(), value.end, value.inner[scheme.end() :], quoted=True
            )
        return value
    end = _end_of_enclosing(text, at, _line_end(text, at))
    inner_text = text[at:end].rstrip()
    return Value(at, at + len(inner_text), inner_text) if inner_text else None


def _end_of_enclosing(text: str, at: int, end: int) -> int:
    before = text.rfind("\n", max(0, at - 200), at) + 1 or max(0, at - 200)
    if text.count("'", before, at) % 2 == 1 and (closing := text.find("'", at, end)) >= 0:
        end = closing
    quotes = [(len(match[1]), match.start()) for match in _DOUBLE_QUOTE.finditer(text, at, end)]
    if not quotes:
        return end
    # An inner quotation has more backslashes than the outer.
    first = quotes[0][0]
    outer = next((position for depth, position in quotes if depth < first), None)
    if outer is not None:
        return outer
    return quotes[0][1] if sum(depth == first for depth, _ in quotes) % 2 else end


def mask_of(value: Value, name_quote: str) -> str:
    """The mask, quoted if only the value's name is: JSON stays valid."""
    if value.whole:
        return f"{name_quote or chr(34)}{MASK}{name_quote or chr(34)}"
    return MASK if value.quoted or not name_quote else f"{name_quote}{MASK}{name_quote}"


def _quote(text: str, start: int, quote: str) -> Value:
    limit = _line_end(text, start)
    if quote[-1] not in _CLOSING:
        end = text.find(quote, start, limit)
        return _quoted_value(text, start, end if end >= 0 else limit)
    depth = len(quote) - 1
    for match in _CLOSING[quote[-1]].finditer(text, start, limit):
        slashes = len(match[1])
        if slashes < depth or (slashes - depth) % (2 * depth + 2) == 0:
            return _quoted_value(
                text, start, match.start() if slashes < depth else match.end() - len(quote)
            )
    around = _DOUBLE_QUOTE.search(text, start, limit) if quote != '"' else None
    return _quoted_value(text, start, around.start() if around else limit)


def _quoted_value(text: str, start: int, end: int) -> Value:
    return Value(start, end, text[start:end], quoted=True)


def _bracketed_value(text: str, at: int) -> Value | None:
    try:
        value, length = _JSON.raw_decode(text[at : at + LONGEST_NESTED])
    except (ValueError, RecursionError):
        pass
    else:
        return Value(at, at + length, text[at : at + length], whole=True) if value else None
    if text[at] == "{":
        return None
    end = text.find("]", at, _line_end(text, at))
    return Value(at + 1, end, text[at + 1 : end]) if end > at + 1 else None


def _value_end(text: str, at: int, limit: int) -> int:
    match = _ENDS.search(text, at, limit)
    return match.start() if match else limit


def _line_end(text: str, at: int) -> int:
    limit = min(len(text), at + LONGEST_QUOTED)
    end = text.find("\n", at, limit)
    return limit if end < 0 else end - (end > at and text[end - 1] == "\r")


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


class _Place(NamedTuple):
    """Where a value begins. ``element``: it ends before the next tag. ``spaced``: only spaces
    separate it from its name.
    """

    at: int
    quote: str = ""
    whole_line: bool = False
    element: bool = False
    spaced: bool = False


def redact_pairs(text: str) -> str:
    """Idempotent. The name and the characters around the value stay."""
    pieces: list[str] = []
    done = at = 0
    while match := NAME_WORD.search(text, at):
        start = _name_start(text, match.start(), max(done, match.start() - LONGEST_BEFORE))
        after = _NAME_AFTER.match(text, match.end())
        at = after.end() if after else match.end()
        secret = _secret_of_name(text, start, at)
        if secret is None:
            continue
        value, name_quote = secret
        pieces += text[done : value.start], mask_of(value, name_quote)
        done = at = value.end
    return _redact_reversed("".join((*pieces, text[done:])) if pieces else text)


def _name_start(text: str, at: int, least: int) -> int:
    while at > least and (text[at - 1].isalnum() or text[at - 1] in "_.-"):
        at -= 1
    return at


def _secret_of_name(text: str, start: int, end: int) -> tuple[Value, str] | None:
    name = text[start:end].rstrip(".-")
    secrecy = secrecy_of(name.lstrip("-"))
    if (
        secrecy is None
        or (start and text[start - 1] == "$")
        or _PARSER_MESSAGE.search(text, max(0, start - 16), start)
    ):
        return None
    place = _find_place(text, start, start + len(name), name)
    if place is None or _NO_VALUE.match(text, place.at):
        return None
    value = _value(text, place, secrecy)
    return (
        (value, place.quote)
        if value is not None and not is_harmless(value.inner) and _is_secret(secrecy, value.inner)
        else None
    )


def _find_place(text: str, start: int, end: int, name: str) -> _Place | None:
    before = text[max(0, start - 40) : start]
    if _BEFORE_VALUE_OF.search(before) and (match := _VALUE_OF.match(text, end)):
        return _Place(match.end(), element=text[match.end() - 1] in ">[")
    is_at_line_start = _LINE_START.search(text, max(0, start - LONGEST_BEFORE), start) is not None
    if match := _SIGN.match(text, end):
        return _Place(
            match.end(), match["quote"] or "", whole_line=is_at_line_start and not match["quote"]
        )
    if match := _COMMA.match(text, end):
        following = text[match.end() : match.end() + 9].lstrip("\\")
        is_quoted = bool(match["quote"]) and following.startswith(("'", '"', "`"))
        is_dump = not match["quote"] and (
            _DUMP.search(before) is not None
            or ("." in name and is_at_line_start and _is_one_word(text, match.end()))
        )
        return _Place(match.end(), whole_line=is_dump) if is_quoted or is_dump else None
    if before[-1:] in ("<", '"', "'") and (match := _ELEMENT.match(text, end)):
        return _Place(match.start("value"), element=True)
    if match := _SPACE.match(text, end):
        is_quoted = "passw" in name.lower() and text[match.end() : match.end() + 1] in ("'", '"')
        if name.startswith("-") or is_quoted or (name == "password" and _NETRC.search(before)):
            return _Place(match.end(), spaced=not is_quoted, whole_line="\n" in match[0])
    return None


def _value(text: str, place: _Place, secrecy: Secrecy) -> Value | None:
    if place.element:
        end = text.find("<", place.at, place.at + LONGEST_QUOTED)
        inner = text[place.at : end].strip() if end > place.at else ""
        return Value(place.at, end, inner, quoted=True) if inner else None
    if secrecy is Secrecy.LINE:
        return line_at(text, place.at)
    value = value_at(text, place.at, whole_line=place.whole_line, most=_FIRST_CHARS)
    if (
        value
        and not value.quoted
        and value.end - value.start >= _FIRST_CHARS
        and _is_secret(secrecy, value.inner)
    ):
        value = value_at(text, place.at, whole_line=place.whole_line)
    return None if value and place.spaced and value.inner.lower() in _ORDINARY else value


def _is_secret(secrecy: Secrecy, value: str) -> bool:
    if secrecy is Secrecy.COUNTED:
        return not is_quantity(value)
    if secrecy is Secrecy.PATH:
        return not value.startswith(("/", "./", "~")) and not is_quantity(value)
    return secrecy is not Secrecy.WORD or looks_random(value)


def _is_one_word(text: str, at: int) -> bool:
    end = text.find("\n", at, at + 500)
    return len(text[at : end if end >= 0 else at + 500].split(None, 1)) == 1


def _redact_reversed(text: str) -> str:
    if '"value' not in text:
        return text

    def hide(match: re.Match[str]) -> str:
        secret = secrecy_of(match["name"]) is not None and not is_harmless(match["value"])
        return f"{match['before']}{MASK}{match['after']}" if secret else match[0]

    return _REVERSED.sub(hide, text)
