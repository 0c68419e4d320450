"""Fields of a file of sources: names with values, texts, lists of texts.

Each raises ``ValueError`` with its place.
"""

from collections.abc import Mapping
from typing import Any


def mapping(given: Any, where: str, keys: tuple[str, ...] = ()) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{where} must be names with values")
    for key in given:
        if keys and key not in keys:
            raise ValueError(f"{where}: {str(key)[:40]!r} is not known; use {', '.join(keys)}")
    return given


def text(given: Mapping[str, Any], key: str, where: str) -> str:
    text = given.get(key, "")
    if not isinstance(text, str) or len(text) > 1_000 or "\0" in text:
        raise ValueError(f"{where}: '{key}' must be a text")
    return text


def texts(given: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    texts = given.get(key, [])
    if (
        not isinstance(texts, list)
        or len(texts) > 100
        or not all(isinstance(text, str) and 0 < len(text) <= 500 for text in texts)
    ):
        raise ValueError(f"{where}: '{key}' must be a list of texts")
    return tuple(texts)
