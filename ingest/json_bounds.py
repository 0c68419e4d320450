"""Decodes JSON of other systems within bounds of size, depth and length of numbers."""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ingest.messages import message

MAX_VALUES = 3_000_000
"""Nearly four times the largest real answer, which takes 250 MB decoded."""

BYTES_PER_VALUE = 64
MAX_HELD_BYTES = 1024**3

MAX_NUMBER_CHARS = 40
_MASK_NUMBERS = bytes(
    ord("0") if chr(byte) in "0123456789+-.eE\0" else ord(" ") for byte in range(256)
)
_LONG_NUMBER = b"0" * (MAX_NUMBER_CHARS + 1)

KEPT_DEPTH = 64
_NESTING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{]++|[\]}]++', re.DOTALL)
_OPENING, _CLOSING = b"[{", b"]}"
MAX_NESTING = 500_000
_SEPARATORS = (b",", b"[", b"{", b":")


class TooManyValues(ValueError):
    def __init__(self, values: int, most: int) -> None:
        super().__init__(
            message(
                "it holds up to {values:count} values, and at most {most:count} are read",
                values=values,
                most=most,
            )
        )


def values_in(content: bytes) -> int:
    """At least the number of values; separators within texts count, too."""
    return sum(content.count(separator) for separator in _SEPARATORS)


def number_hooks(content: bytes) -> dict[str, Any]:
    """Hooks of ``json.loads`` that keep long numbers as texts; none without long numbers, since
    hooks take time.
    """
    if _LONG_NUMBER not in content.translate(_MASK_NUMBERS):
        return {}
    return {"parse_int": partial(_number, int), "parse_float": partial(_number, float)}


def _number(kind: Callable[[str], float], text: str) -> float | str:
    return kind(text) if len(text) <= MAX_NUMBER_CHARS else text


def pushed_hooks(content: bytes) -> dict[str, Any]:
    """As ``number_hooks``, but fractions stay bytes, which ``float`` accepts."""
    return number_hooks(content) | {"parse_float": str.encode}


def decoded(
    content: bytes,
    most: int = MAX_VALUES,
    *,
    lenient: bool = False,
    cut_deep: bool = False,
    hooks: Callable[[bytes], dict[str, Any]] = number_hooks,
) -> tuple[Any, int]:
    """The document, and about how many bytes it takes in memory. Raises ``TooManyValues``,
    ``ValueError`` or ``RecursionError``. ``lenient``: bytes that are not UTF-8 are replaced.
    ``cut_deep``: values deeper than ``KEPT_DEPTH`` become null.
    """
    values = values_in(content)
    if values > most:
        raise TooManyValues(values, most)
    try:
        document = json.loads(content, **hooks(content))
    except UnicodeDecodeError:
        if not lenient:
            raise
        return decoded(
            content.decode("utf-8", "replace").encode(), most, cut_deep=cut_deep, hooks=hooks
        )
    except RecursionError:
        if not cut_deep:
            raise
        document = json.loads(_shallow(content), **hooks(content))
    return document, len(content) + BYTES_PER_VALUE * values


def _shallow(content: bytes) -> bytes:
    """The content with null for values deeper than ``KEPT_DEPTH``. Raises ``ValueError`` for too
    many texts and brackets.
    """
    shallow, depth, kept_from = bytearray(), 0, 0
    for number, token in enumerate(_NESTING.finditer(content)):
        if number > MAX_NESTING:
            raise ValueError("it is nested deeply, and holds too much")
        start, end = token.span()
        bracket = content[start]
        if bracket in _OPENING:
            if depth <= KEPT_DEPTH < depth + end - start:
                shallow += content[kept_from : start + KEPT_DEPTH - depth] + b"null"
            depth += end - start
        elif bracket in _CLOSING:
            if depth > KEPT_DEPTH >= depth - (end - start):
                kept_from = start + depth - KEPT_DEPTH
            depth -= end - start
    return bytes(shallow + content[kept_from:]) if depth <= KEPT_DEPTH else content
