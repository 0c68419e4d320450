"""Where a value in running text begins and ends, whatever it is quoted with."""

import json
import re
from dataclasses import dataclass

from ingest.redaction.marks import MASK

LONGEST_QUOTED = 16_384
LONGEST_NESTED = 4_096
MOST_WORDS = 6
"""A line ``password: correct horse battery staple`` is a passphrase; one of more words is a
sentence.
"""

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


@dataclass(frozen=True, slots=True)
class Value:
    """``text[start:end]`` is what is hidden; ``inner`` the value itself, without quotes.

    ``whole``: a JSON list or object.
    """

    start: int
    end: int
    inner: str
    quoted: bool = False
    whole: bool = False


def value_at(
    text: str, at: int, *, whole_line: bool = False, most: int | None = None
) -> Value | None:
    """The value that begins at ``at``; ``None`` where there is none. ``whole_line``: nothing else
    stands on its line.

    ``most`` bounds how far the end of one without quotes is looked for.
    """
    if at >= len(text):
        return None
    if opened := _OPENS.match(text, at):
        return _quoted(text, opened.end(), opened["quote"])
    if whole_line and (block := _BLOCK.match(text, at)):
        return Value(
            block.start("lines") + _indent(block["lines"]),
            block.start("lines") + len(block["lines"].rstrip()),
            block["lines"].strip(),
        )
    if text[at] == "[" or text[at] == "{":
        return _bracketed(text, at)
    end = _ending(text, at, len(text) if most is None else min(len(text), at + most))
    line_end = _line_end(text, at)
    rest = text[at:line_end].rstrip() if whole_line else ""
    if rest and len(rest.split(None, MOST_WORDS)) <= MOST_WORDS and not _ANOTHER_PAIR.search(rest):
        end = at + len(rest)
    return Value(at, end, text[at:end]) if end > at else None


def line_at(text: str, at: int) -> Value | None:
    """All up to the end of the line, or of what quotes it; the name of a scheme of signing in
    stays.
    """
    if _NO_LINE.match(text, at):
        return value_at(text, at)
    if scheme := _SCHEME.match(text, at):
        value = value_at(text, scheme.end())
        return value if value and not value.quoted else None
    if opened := _OPENS.match(text, at):
        value = _quoted(text, opened.end(), opened["quote"])
        if scheme := _SCHEME.match(value.inner):
            return Value(
                value.start + scheme.end(), value.end, value.inner[scheme.end() :], quoted=True
            )
        return value
    end = _enclosed(text, at, _line_end(text, at))
    inner_text = text[at:end].rstrip()
    return Value(at, at + len(inner_text), inner_text) if inner_text else None


def _enclosed(text: str, at: int, end: int) -> int:
    before = text.rfind("\n", max(0, at - 200), at) + 1 or max(0, at - 200)
    if text.count("'", before, at) % 2 == 1 and (closing := text.find("'", at, end)) >= 0:
        end = closing
    quotes = [(len(match[1]), match.start()) for match in _DOUBLE_QUOTE.finditer(text, at, end)]
    if not quotes:
        return end
    # What is quoted inside is escaped once more than what quotes it.
    first = quotes[0][0]
    outer = next((place for depth, place in quotes if depth < first), None)
    if outer is not None:
        return outer
    return quotes[0][1] if sum(depth == first for depth, _ in quotes) % 2 else end


def hidden(value: Value, name_quote: str) -> str:
    """What takes its place; a bare number of a JSON document becomes a text, so that the document
    stays one.
    """
    if value.whole:
        return f"{name_quote or chr(34)}{MASK}{name_quote or chr(34)}"
    return MASK if value.quoted or not name_quote else f"{name_quote}{MASK}{name_quote}"


def _quoted(text: str, start: int, quote: str) -> Value:
    limit = _line_end(text, start)
    if quote[-1] not in _CLOSING:
        end = text.find(quote, start, limit)
        return _until(text, start, end if end >= 0 else limit)
    depth = len(quote) - 1
    for match in _CLOSING[quote[-1]].finditer(text, start, limit):
        slashes = len(match[1])
        if slashes < depth or (slashes - depth) % (2 * depth + 2) == 0:
            return _until(
                text, start, match.start() if slashes < depth else match.end() - len(quote)
            )
    around = _DOUBLE_QUOTE.search(text, start, limit) if quote != '"' else None
    return _until(text, start, around.start() if around else limit)


def _until(text: str, start: int, end: int) -> Value:
    return Value(start, end, text[start:end], quoted=True)


def _bracketed(text: str, at: int) -> Value | None:
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


def _indent(lines: str) -> int:
    return len(lines) - len(lines.lstrip())


def _ending(text: str, at: int, limit: int) -> int:
    match = _ENDS.search(text, at, limit)
    return match.start() if match else limit


def _line_end(text: str, at: int) -> int:
    limit = min(len(text), at + LONGEST_QUOTED)
    end = text.find("\n", at, limit)
    return limit if end < 0 else end - (end > at and text[end - 1] == "\r")
