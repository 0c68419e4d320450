"""Names in URLs. Every name gets a URL, so that no row can break a list page: Django makes no URL
of an empty name or a name with a slash, and browsers resolve ``.`` and ``..``. Such characters are
written like ``~2F``, a slash; usual names are not changed.
"""

import re

_ESCAPED = re.compile(r"~([0-9A-F]{2})")
_UNUSUAL = re.compile(r"[/~]")
_DOTS = re.compile(r"\.{1,2}")


class PathName:
    """``<name:cluster>``: any text without NUL."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        if "\x00" in value:
            raise ValueError
        return "" if value == "~" else _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)

    def to_url(self, value: object) -> str:
        text = str(value).replace("\x00", "")
        unusual = _DOTS if _DOTS.fullmatch(text) else _UNUSUAL
        return unusual.sub(_escape, text) or "~"


def _escape(match: re.Match[str]) -> str:
    return "".join(f"~{ord(character):02X}" for character in match[0])


class PathWhole:
    """``<whole:trigger>``: a signed whole number of 64 bits."""

    regex = "-?[0-9]{1,19}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: object) -> str:
        return str(value)


def without_nul(text: str) -> str:
    """PostgreSQL refuses NUL in texts."""
    return text.replace("\x00", "")
