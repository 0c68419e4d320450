"""Checks of a translation: lost values, changed markup, changed lines."""

import re
from collections import Counter

_PLACEHOLDER = re.compile(r"%%|%\(\w+\)[sdif]|%[sdif]|{\w*(?=[:}])")
_TAG = re.compile(r"<(/?[a-zA-Z][\w-]*)((?:\s[^<>]*)?)/?>")
_SPOKEN = re.compile(r"""\s(?:title|aria-label|placeholder)=(?:"[^"]*"|'[^']*')""")


def wrong(english: str, plural: str, text: str) -> str:
    """What a translation has lost or added, in one sentence; empty if it is correct. A plural may
    omit the number only if the English plural does.
    """
    if not text:
        return "is not translated"
    if (lost := _placeholders(plural or english)) != (has := _placeholders(text)):
        return f"has the placeholders {sorted(has)} where English has {sorted(lost)}"
    if (lost_tags := _tags(plural or english)) != (tags := _tags(text)):
        return (
            f"has the tags {sorted(tags.elements())} where English has "
            f"{sorted(lost_tags.elements())}"
        )
    if (english[:1] == "\n", english[-1:] == "\n") != (text[:1] == "\n", text[-1:] == "\n"):
        return "begins or ends with another line break than English"
    return ""


def _placeholders(text: str) -> set[str]:
    return {placeholder for placeholder in _PLACEHOLDER.findall(text) if placeholder != "%%"} | (
        {"%%"} if "%%" in text else set()
    )


def _tags(text: str) -> Counter[str]:
    return Counter(
        f"{name}{_SPOKEN.sub('', attributes).rstrip(' /')}"
        for name, attributes in _TAG.findall(text)
    )
