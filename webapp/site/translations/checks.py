"""Checks of a translation: placeholders, tags and line breaks have to be those of the English text."""

import re
from collections import Counter

_PLACEHOLDER = re.compile(r"%%|%\(\w+\)[sdif]|%[sdif]|{\w*(?=[:}])")
_TAG = re.compile(r"<(/?[a-zA-Z][\w-]*)((?:\s[^<>]*)?)/?>")
_TRANSLATED_ATTRIBUTE = re.compile(r"""\s(?:title|aria-label|placeholder)=(?:"[^"]*"|'[^']*')""")


def fault_of(english: str, plural: str, text: str) -> str:
    """What a translation lacks or has too much, in one sentence; "" if it is correct."""
    if not text:
        return "is not translated"
    expected, placeholders = _placeholders(plural or english), _placeholders(text)
    if placeholders != expected:
        return f"has the placeholders {sorted(placeholders)} where English has {sorted(expected)}"
    expected_tags, tags = _tags(plural or english), _tags(text)
    if tags != expected_tags:
        return (
            f"has the tags {sorted(tags.elements())} where English has "
            f"{sorted(expected_tags.elements())}"
        )
    if (english[:1] == "\n", english[-1:] == "\n") != (text[:1] == "\n", text[-1:] == "\n"):
        return "begins or ends with another line break than English"
    return ""


def _placeholders(text: str) -> set[str]:
    return set(_PLACEHOLDER.findall(text)) - {"%%"} | ({"%%"} if "%%" in text else set())


def _tags(text: str) -> Counter[str]:
    return Counter(
        f"{name}{_TRANSLATED_ATTRIBUTE.sub('', attributes).rstrip(' /')}"
        for name, attributes in _TAG.findall(text)
    )
