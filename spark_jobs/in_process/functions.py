"""Spark's functions on single values, and over the values of a group. Null in, null out, unless said otherwise."""

import hashlib
import json
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import pyarrow as pa

from spark_jobs.in_process.values import (
    BYTES,
    DOUBLE,
    FLAG,
    INSTANT,
    INT,
    LONG,
    SPAN,
    TEXT,
    Unsupported,
    common_type,
    hashable,
    order_key,
)

Types = Sequence[pa.DataType]
_LINE_END = "(?:\r\n|[\n\r\x85\u2028\u2029])"


@dataclass(frozen=True)
class Function:
    """``strict``: null where any argument is, and then not called."""

    result: Callable[[Types], pa.DataType]
    call: Callable[..., Any]
    strict: bool = True


def _always(type_: pa.DataType) -> Callable[[Types], pa.DataType]:
    return lambda types: type_


def _first(types: Types) -> pa.DataType:
    return types[0]


def _element(types: Types) -> pa.DataType:
    return types[0].value_type


def _list(types: Types) -> pa.DataType:
    return pa.list_(common_type(types))


def _sum_type(types: Types) -> pa.DataType:
    return INSTANT if {*types} == {INSTANT, SPAN} else common_type(types)


def _cases(types: Types) -> pa.DataType:
    return common_type([*types[1::2], *types[len(types) - len(types) % 2 :]])


def _and(*values: bool | None) -> bool | None:
    return False if False in values else (None if None in values else True)


def _or(*values: bool | None) -> bool | None:
    return True if True in values else (None if None in values else False)


def _when(*values: Any) -> Any:
    for condition, value in zip(values[::2], values[1::2], strict=False):
        if condition:
            return value
    return values[-1] if len(values) % 2 else None


def _in(value: Any, *among: Any) -> bool | None:
    if value is None:
        return None
    return True if value in among else (None if None in among else False)


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _extreme(of: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(*values: Any) -> Any:
        given = [value for value in values if value is not None]
        return of(given) if given else None

    return extreme


@cache
def pattern(java: str) -> re.Pattern[str]:
    """Java's ``.`` and ``$`` know more line ends than Python's."""
    parts = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|.", java, re.DOTALL)
    spelled = {".": "[^\n\r\x85\u2028\u2029]", "$": f"(?={_LINE_END}?\\Z)"}
    return re.compile("".join(spelled.get(part, part) for part in parts), re.ASCII)


def _regexp_extract(text: str, java: str, group: int) -> str:
    found = pattern(java).search(text)
    return (found[group] or "") if found else ""


def _substring(text: str | bytes, at: int, length: int) -> str | bytes:
    start = at - 1 if at > 0 else (len(text) + at if at < 0 else 0)
    return text[max(start, 0) : max(start + length, 0)]


def _substring_index(text: str, mark: str, count: int) -> str:
    parts = text.split(mark)
    return mark.join(parts[:count] if count > 0 else parts[count:] if count else [])


def _concat(*values: Any) -> Any:
    return reduce(operator.add, values)


def _contains(values: list[Any], wanted: Any) -> bool | None:
    return True if wanted in values else (None if None in values else False)


def _flatten(lists: list[list[Any] | None]) -> list[Any] | None:
    return None if None in lists else [value for values in lists for value in values or ()]


def _distinct(values: list[Any]) -> list[Any]:
    return list({hashable(value): value for value in values}.values())


def _slice(values: list[Any], start: int, length: int) -> list[Any]:
    return values[start - 1 : start - 1 + length]


def _get(values: list[Any], at: int) -> Any:
    return values[at] if 0 <= at < len(values) else None


def _format(text: str, *values: Any) -> str:
    return text.replace("%d", "%s") % tuple("null" if value is None else value for value in values)


def _to_json(value: Any) -> str:
    return json.dumps(_without_nulls(value), ensure_ascii=False, separators=(",", ":"))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return [_without_nulls(member) for member in value] if isinstance(value, list) else value


def _hash(*values: Any) -> int:
    """Not Spark's, but as good a one: nobody keeps it."""
    return int.from_bytes(hashlib.blake2b(repr(values).encode(errors="surrogateescape"), digest_size=8).digest(), signed=True)


def _date_trunc(unit: str, instant: int) -> int:
    if unit.upper() != "MILLISECOND":
        raise Unsupported(f"date_trunc to {unit}")
    return instant - instant % 1000


def _interval(days: int, hours: int, minutes: int, seconds: float) -> int:
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000)


def _compared(name: str) -> Function:
    return Function(_always(FLAG), getattr(operator, name))


def _octets(text: str | bytes) -> int:
    return len(text if isinstance(text, bytes) else text.encode(errors="surrogateescape"))


SCALAR: dict[str, Function] = {
    "==": _compared("eq"), "<": _compared("lt"), "<=": _compared("le"), ">": _compared("gt"), ">=": _compared("ge"),
    "!=": _compared("ne"),
    "<=>": Function(_always(FLAG), operator.eq, strict=False),
    "not": Function(_always(FLAG), operator.not_),
    "and": Function(_always(FLAG), _and, strict=False),
    "or": Function(_always(FLAG), _or, strict=False),
    "isnull": Function(_always(FLAG), lambda value: value is None, strict=False),
    "isnotnull": Function(_always(FLAG), lambda value: value is not None, strict=False),
    "in": Function(_always(FLAG), _in, strict=False),
    "when": Function(_cases, _when, strict=False),
    "coalesce": Function(common_type, _coalesce, strict=False),
    "nullif": Function(_first, lambda one, other: None if one == other else one, strict=False),
    "greatest": Function(common_type, _extreme(max), strict=False),
    "least": Function(common_type, _extreme(min), strict=False),
    "+": Function(_sum_type, operator.add), "-": Function(_sum_type, operator.sub), "*": Function(common_type, operator.mul),
    "negative": Function(_first, operator.neg),
    "power": Function(_always(DOUBLE), lambda base, exponent: float(base) ** float(exponent)),
    "bin": Function(_always(TEXT), lambda value: f"{value % 2**64:b}"),
    "rlike": Function(_always(FLAG), lambda text, java: pattern(java).search(text) is not None),
    "regexp_extract": Function(_always(TEXT), _regexp_extract),
    "regexp_replace": Function(_always(TEXT), lambda text, java, by, *_: pattern(java).sub(lambda _: by, text)),
    "contains": Function(_always(FLAG), lambda text, part: part in text),
    "startswith": Function(_always(FLAG), lambda text, part: text.startswith(part)),
    "endswith": Function(_always(FLAG), lambda text, part: text.endswith(part)),
    "substring": Function(_first, _substring),
    "substring_index": Function(_always(TEXT), _substring_index),
    "rtrim": Function(_always(TEXT), lambda trimmed, text: text.rstrip(trimmed)),
    "lpad": Function(_always(TEXT), lambda text, length, by: text[:length].rjust(length, by)),
    "lower": Function(_always(TEXT), str.lower),
    "length": Function(_always(INT), len),
    "octet_length": Function(_always(INT), _octets),
    "concat": Function(_first, _concat),
    "format_string": Function(_always(TEXT), _format, strict=False),
    "to_json": Function(_always(TEXT), _to_json),
    "xxhash64": Function(_always(LONG), _hash, strict=False),
    "date_trunc": Function(_always(INSTANT), _date_trunc),
    "make_dt_interval": Function(_always(SPAN), _interval),
    "array": Function(_list, lambda *values: list(values), strict=False),
    "array_contains": Function(_always(FLAG), _contains),
    "array_distinct": Function(_first, _distinct),
    "flatten": Function(_element, _flatten),
    "sort_array": Function(_first, lambda values, *_: sorted(values, key=order_key)),
    "size": Function(_always(INT), len),
    "slice": Function(_first, _slice),
    "get": Function(_element, _get),
}  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """``call`` gets the rows of a group, each a tuple of arguments; ``nulls``: also those in which one is null."""

    result: Callable[[Types], pa.DataType]
    call: Callable[[list[tuple[Any, ...]]], Any]
    nulls: bool = False


def _of_first(function: Callable[[list[Any]], Any]) -> Callable[[list[tuple[Any, ...]]], Any]:
    return lambda rows: function([row[0] for row in rows]) if rows else None


def _by(best: Callable[..., Any]) -> Callable[[list[tuple[Any, ...]]], Any]:
    def chosen(rows: list[tuple[Any, ...]]) -> Any:
        dated = [row for row in rows if row[1] is not None]
        return best(dated, key=lambda row: order_key(row[1]))[0] if dated else None

    return chosen


def _total(types: Types) -> pa.DataType:
    return DOUBLE if pa.types.is_floating(types[0]) else LONG


AGGREGATES: dict[str, Aggregate] = {
    "max": Aggregate(_first, _of_first(lambda values: max(values, key=order_key))),
    "min": Aggregate(_first, _of_first(lambda values: min(values, key=order_key))),
    "sum": Aggregate(_total, _of_first(sum)),
    "count": Aggregate(_always(LONG), len),
    "count_if": Aggregate(_always(LONG), lambda rows: sum(row[0] for row in rows)),
    "bool_or": Aggregate(_always(FLAG), _of_first(any)),
    "bool_and": Aggregate(_always(FLAG), _of_first(all)),
    "bit_xor": Aggregate(_first, _of_first(lambda values: reduce(operator.xor, values))),
    "collect_list": Aggregate(_list, lambda rows: [row[0] for row in rows]),
    "collect_set": Aggregate(_list, lambda rows: _distinct([row[0] for row in rows])),
    "max_by": Aggregate(_first, _by(max), nulls=True),
    "min_by": Aggregate(_first, _by(min), nulls=True),
}


def cast(value: Any, given: pa.DataType, wanted: pa.DataType, attempt: bool = False) -> Any:
    """``attempt``: null where it cannot be, else an error."""
    if value is None or given == wanted:
        return value
    try:
        return _cast(value, given, wanted)
    except (ValueError, OverflowError):
        if attempt:
            return None
        raise


def _cast(value: Any, given: pa.DataType, wanted: pa.DataType) -> Any:
    if wanted == TEXT:
        return _text(value, given)
    if wanted == BYTES and given == TEXT:
        return value.encode(errors="surrogateescape")
    if pa.types.is_integer(wanted) and not pa.types.is_timestamp(given):
        if isinstance(value, str) and not re.fullmatch(r"\s*[+-]?[0-9]+\s*", value, re.ASCII):
            raise ValueError(f"{value!r} is no whole number.")
        whole, bits = int(value), wanted.bit_width
        if not -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1):
            raise OverflowError(f"{value!r} does not fit into {wanted}.")
        return whole
    if wanted == DOUBLE and isinstance(value, int | float) and not pa.types.is_timestamp(given):
        return float(value)
    if wanted == INSTANT and given == TEXT:
        return pa.scalar(value.replace(" ", "T") + "Z").cast(INSTANT).cast(LONG).as_py()
    if pa.types.is_struct(wanted) and pa.types.is_struct(given):
        return {to.name: cast(value[of.name], of.type, to.type) for of, to in zip(given, wanted, strict=True)}
    if pa.types.is_list(wanted) and pa.types.is_list(given):
        return [cast(member, given.value_type, wanted.value_type) for member in value]
    raise Unsupported(f"casting {given} to {wanted}")


def _text(value: Any, given: pa.DataType) -> str:
    if given == BYTES:
        return str(value.decode(errors="surrogateescape"))
    if pa.types.is_integer(given):
        return str(value)
    if given == FLAG:
        return "true" if value else "false"
    raise Unsupported(f"casting {given} to a text")
