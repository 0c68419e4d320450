"""Values in a cursor, which come from outside, checked against their columns."""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db import models

from webapp.lib.row_numbers import LARGEST

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class NoKey(ValueError):
    """The value does not fit the column, or no database stores it."""


def to_json(value: Any) -> Any:
    return {"at": value.astimezone(UTC).isoformat()} if isinstance(value, datetime) else value


def from_json(value: Any, column: "models.Field[Any, Any]") -> Any:
    """The inverse of :func:`to_json` for ``column``; raises :class:`NoKey`."""
    return next(read for kind, read in _READERS.items() if isinstance(column, kind))(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NoKey
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise NoKey
    return value


def _real(value: Any) -> float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NoKey
        return value
    return float(_whole(value))


def _text(value: Any) -> str:
    if not isinstance(value, str) or _UNSTORABLE.search(value):
        raise NoKey
    return value


def _instant(value: Any) -> datetime:
    try:
        written = datetime.fromisoformat(value["at"])
        instant = written.astimezone(UTC)
    except (TypeError, KeyError, OverflowError, ValueError):
        raise NoKey from None
    if written.tzinfo is None:
        raise NoKey
    return instant


_READERS: dict[type["models.Field[Any, Any]"], Callable[[Any], Any]] = {
    models.BooleanField: _flag,
    models.IntegerField: _whole,
    models.FloatField: _real,
    models.CharField: _text,
    models.TextField: _text,
    models.DateTimeField: _instant,
}
"""Kinds of columns that lists are ordered by."""
