"""Values in cursors. Clients can forge cursors: each value is checked against its column."""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db import models

from webapp.lib.row_numbers import LARGEST

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UnfitValue(ValueError):
    """The value does not fit the column, or no database stores it."""


def to_json(value: Any) -> Any:
    return {"at": value.astimezone(UTC).isoformat()} if isinstance(value, datetime) else value


def from_json(value: Any, column: "models.Field[Any, Any]") -> Any:
    """The inverse of :func:`to_json` for ``column``; raises :class:`UnfitValue`."""
    return next(read for kind, read in _READERS.items() if isinstance(column, kind))(value)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnfitValue
    return value


def _int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise UnfitValue
    return value


def _float(value: Any) -> float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnfitValue
        return value
    return float(_int(value))


def _text(value: Any) -> str:
    if not isinstance(value, str) or UNSTORABLE.search(value):
        raise UnfitValue
    return value


def _instant(value: Any) -> datetime:
    try:
        parsed = datetime.fromisoformat(value["at"])
        instant = parsed.astimezone(UTC)
    except (TypeError, KeyError, OverflowError, ValueError):
        raise UnfitValue from None
    if parsed.tzinfo is None:
        raise UnfitValue
    return instant


_READERS: dict[type["models.Field[Any, Any]"], Callable[[Any], Any]] = {
    models.BooleanField: _bool,
    models.IntegerField: _int,
    models.FloatField: _float,
    models.CharField: _text,
    models.TextField: _text,
    models.DateTimeField: _instant,
}
"""The kinds of columns that sort lists."""
