"""Typed reading of decoded JSON. Flink writes "unknown" as null, -1, "NaN", Long.MAX or Long.MIN,
depending on the field: all become ``None``. A value of a wrong type raises ``Skipped``.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

from ingest.errors import Skipped
from ingest.flink_ids import is_flink_id
from ingest.traces import shortened

LONG_MAX = 2**63 - 1
LONG_MIN = -(2**63)
MAX_TEXT_CHARS = 64 * 1024
MAX_ELEMENTS = 200_000
_Value = TypeVar("_Value")
LARGEST_INTEGER = 2**53
"""No checkpoint has 8 PiB. The sum of hundreds of such numbers still fits into 64 bits."""
LARGEST_REAL = 1e18
LONGEST_MS = 100 * 366 * 86_400_000
"""A duration beyond a hundred years means "unlimited", or comes from a wrong clock."""
LAST_INSTANT_MS = 7_258_118_400_000
"""2200-01-01. With a duration added, an instant must still be one that Python can represent."""


class Fields:
    """One JSON object, and its place inside the payload (``history[3]``). A method with several
    names reads the first of them that the object has.
    """

    __slots__ = ("_object", "place")

    def __init__(self, value: Any, place: str = "") -> None:
        if not isinstance(value, dict):
            raise Skipped(f"{place or 'answer'}: expected an object, got {_excerpt(value)}")
        self._object = value
        self.place = place

    def names(self) -> Iterator[str]:
        return iter(self._object)

    def raw(self, *names: str) -> Any:
        return self._find(names)[1]

    def text(self, *names: str) -> str | None:
        return clean_text(self._typed_value(names, str, "a text"))

    def upper(self, *names: str) -> str | None:
        return (self.text(*names) or "").upper() or None

    def trace(self, *names: str) -> str | None:
        text = self._typed_value(names, str, "a text")
        return clean_text(text and shortened(text, MAX_TEXT_CHARS))

    def flag(self, *names: str) -> bool | None:
        return self._typed_value(names, bool, "true or false")

    def integer(self, *names: str) -> int | None:
        return self._read(names, integer, "a whole number")

    def duration_ms(self, *names: str) -> int | None:
        duration = self.integer(*names)
        return duration if duration is None or duration <= LONGEST_MS else None

    def real(self, *names: str) -> float | None:
        return self._read(names, real, "a number")

    def instant(self, *names: str) -> datetime | None:
        return self._read(names, instant, "a time in epoch milliseconds")

    def required_text(self, *names: str) -> str:
        return self._require(self.text(*names), names, "a text")

    def required_integer(self, *names: str) -> int:
        return self._require(self.integer(*names), names, "a whole number")

    def required_instant(self, *names: str) -> datetime:
        return self._require(self.instant(*names), names, "a time in epoch milliseconds")

    def required_flink_id(self, *names: str) -> str:
        text = self.required_text(*names)
        if not is_flink_id(text):
            raise self._unexpected(names[0], "an id of 32 hex digits", text)
        return text

    def object(self, *names: str) -> "Fields | None":
        name, value = self._find(names)
        return None if value is None else Fields(value, self._at(name))

    def required_object(self, *names: str) -> "Fields":
        fields = self.object(*names)
        return self._require(fields, names, "an object")

    def items(self, *names: str) -> list[tuple[str, Any]]:
        """Elements of a list with their places; empty if absent."""
        name, value = self._find(names)
        return [] if value is None else elements(value, self._at(name))

    def objects(self, *names: str) -> Iterator["Fields"]:
        for place, item in self.items(*names):
            yield Fields(item, place)

    def _find(self, names: tuple[str, ...]) -> tuple[str, Any]:
        for name in names:
            if name in self._object:
                return name, self._object[name]
        return names[0], None

    def _typed_value(
        self, names: tuple[str, ...], type_: type[_Value], expected: str
    ) -> _Value | None:
        name, value = self._find(names)
        if value is None or isinstance(value, type_):
            return value
        raise self._unexpected(name, expected, value)

    def _read(
        self, names: tuple[str, ...], reader: Callable[[Any], _Value | None], expected: str
    ) -> _Value | None:
        name, value = self._find(names)
        try:
            return reader(value)
        except ValueError:
            raise self._unexpected(name, expected, value) from None

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def _unexpected(self, name: str, expected: str, value: Any) -> Skipped:
        return Skipped(f"{self._at(name)}: expected {expected}, got {_excerpt(value)}")

    def _require(self, field: _Value | None, names: tuple[str, ...], expected: str) -> _Value:
        if field is None:
            raise Skipped(
                f"{self._at(names[0])}: expected {expected}, got {_excerpt(self.raw(*names))}"
            )
        return field


def elements(value: Any, place: str = "") -> list[tuple[str, Any]]:
    if not isinstance(value, list):
        raise Skipped(f"{place or 'answer'}: expected a list, got {_excerpt(value)}")
    if len(value) > MAX_ELEMENTS:
        raise Skipped(
            f"{place or 'answer'}: expected at most {MAX_ELEMENTS:,} elements, got {len(value):,}"
        )
    return [(f"{place}[{index}]", item) for index, item in enumerate(value)]


def integer(value: Any) -> int | None:
    """``None`` if unknown. Raises ``ValueError`` for a value that is not a whole number."""
    if type(value) is int and 0 <= value <= LARGEST_INTEGER:
        # The fast path for nearly all values, of which some answers hold tens of thousands.
        return value
    number = _number(value)
    if number is None or number < 0:
        return None
    if number != int(number):
        raise ValueError
    return int(number) if number <= LARGEST_INTEGER else None


def signed(value: Any) -> int | None:
    """Like ``integer``, but may be negative (a watermark)."""
    number = _number(value)
    if number is None or number >= LONG_MAX or number <= LONG_MIN:
        return None
    if number != int(number):
        raise ValueError
    return int(number)


def real(value: Any) -> float | None:
    """``None`` if unknown. Raises ``ValueError`` for a value that is not a number."""
    number = _number(value)
    return None if number is None or not 0 <= number <= LARGEST_REAL else float(number)


def instant(value: Any) -> datetime | None:
    """From epoch milliseconds; ``None`` if unknown or 0. Raises ``ValueError``."""
    number = integer(value)
    return instant_of_ms(number) if number else None


def instant_of_ms(epoch_ms: int) -> datetime:
    """Raises ``ValueError`` from the year 2200 on."""
    if epoch_ms >= LAST_INSTANT_MS:
        raise ValueError
    return datetime.fromtimestamp(epoch_ms // 1000, UTC).replace(microsecond=epoch_ms % 1000 * 1000)


def known_sum(numbers: Iterable[int | None]) -> int | None:
    values = [number for number in numbers if number is not None]
    return sum(values) if values else None


def clean_text(value: str | None, max_chars: int = MAX_TEXT_CHARS) -> str | None:
    """Text that any store can hold: no NUL, no half surrogate pairs, bounded."""
    if value is None:
        return None
    bounded = value[:max_chars]
    if bounded.isascii() and "\x00" not in bounded:
        return bounded
    return bounded.replace("\x00", "�").encode("utf-8", "replace").decode("utf-8")


def _number(value: Any) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    number = _number_of_text(value) if isinstance(value, str) else value
    if isinstance(number, float) and not math.isfinite(number):
        return None
    if isinstance(number, int) and not LONG_MIN <= number <= LONG_MAX:
        raise ValueError
    return number


def _number_of_text(text: str) -> int | float:
    if len(text) > 64:
        raise ValueError
    try:
        return int(text)
    except ValueError:
        return float(text)


def _excerpt(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
