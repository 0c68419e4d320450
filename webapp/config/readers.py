"""Typed readers of environment variables. They raise :class:`RefusedSetting`."""

import os
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from environs import Env, EnvError

_ENV = Env()
_HIDDEN = "(hidden)"

Check = Callable[[Any], object]


class RefusedSetting(ImproperlyConfigured):
    """The message is safe to print."""

    def __init__(self, name: str, shown: str, expected: str) -> None:
        super().__init__(
            f"The environment variable {name} is {shown[:80]!r}, but must be {expected}."
        )


def flag(name: str, default: bool) -> bool:
    return bool(_read(name, default, _ENV.bool, "true or false"))


def number(name: str, default: int, lowest: int, highest: int) -> int:
    return int(
        _read(
            name,
            default,
            _ENV.int,
            f"a whole number from {lowest} to {highest}",
            lambda value: lowest <= value <= highest,
        )
    )


def text(name: str, default: str, expected: str, check: Check) -> str:
    return str(_read(name, default, _ENV.str, expected, check))


def secret(name: str, expected: str, check: Check, default: str = "") -> str:
    return str(_read(name, default, _ENV.str, expected, check, hidden=True))


def words(name: str, default: list[str], expected: str = "names", check: Check = bool) -> list[str]:
    return list(
        _read(
            name,
            default,
            _ENV.list,
            f"{expected}, separated by commas",
            lambda values: all(check(word) for word in values),
        )
    )


def text_map(name: str, expected: str, check: Check = lambda value: True) -> dict[str, str]:
    """A JSON object of texts. Errors do not show it: storage options contain keys."""
    return dict(
        _read(
            name,
            {},
            _ENV.json,
            expected,
            lambda value: _is_text_map(value) and check(value),
            hidden=True,
        )
    )


def _read(
    name: str,
    default: Any,
    convert: Callable[[str], Any],
    expected: str,
    check: Check = lambda value: True,
    *,
    hidden: bool = False,
) -> Any:
    raw = os.environ.get(name, "")
    if raw == "":
        return default
    shown = _HIDDEN if hidden else raw
    try:
        value = convert(name)
    except (EnvError, ValueError):
        raise RefusedSetting(name, shown, expected) from None
    if not check(value):
        raise RefusedSetting(name, shown, expected)
    return value


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
