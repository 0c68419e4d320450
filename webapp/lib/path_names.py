"""Names in addresses. Any text of a row has an address, so that no row can break a list page.

Django refuses to make an address of a name that holds a slash or nothing, and browsers resolve
``.`` and ``..`` before they ask. Such characters are written as ``~2F``; all usual names stay as
they are.
"""

import re

_ESCAPED = re.compile(r"~([0-9A-F]{2})")
_UNUSUAL = re.compile(r"[/~]")
_DOTS = re.compile(r"\.{1,2}")


class PathName:
    """``<name:cluster>``: any text without NUL, which no database stores."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        if "\x00" in value:
            raise ValueError
        return "" if value == "~" else _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)

    def to_url(self, value: object) -> str:
        text = str(value).replace("\x00", "")
        unusual = _DOTS if _DOTS.fullmatch(text) else _UNUSUAL
        return (
            unusual.sub(
                lambda match: "".join(f"~{ord(character):02X}" for character in match[0]), text
            )
            or "~"
        )


class PathWhole:
    """``<whole:trigger>``: a whole number of 64 bits, also one below zero."""

    regex = "-?[0-9]{1,19}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: object) -> str:
        return str(value)


def without_nul(text: str) -> str:
    """PostgreSQL refuses NUL in texts."""
    return text.replace("\x00", "")
