"""Writes and reads reports as JSON: dataclasses become objects, rows of tables become objects with
the keys of the columns, instants are ISO 8601 in UTC.
"""

import json
from dataclasses import is_dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from webapp.analyses.document import Block, Column, Fact, Table, Unit, Value
from webapp.analyses.presentation import plain
from webapp.reports.document import VERSION, Report

_BLOCKS = {block.__dataclass_fields__["kind"].default: block for block in get_args(Block)}


class UnknownVersion(ValueError):
    """Another version of Weir made the report, and this version cannot read it."""


def to_json(report: Report) -> str:
    """Indented, for people who open the file."""
    return json.dumps(plain(report), ensure_ascii=False, indent=1)


def from_plain(report: Any) -> Report:
    """Raises :class:`UnknownVersion`."""
    if not isinstance(report, dict) or report.get("version") != VERSION:
        raise UnknownVersion("This report was made by another version of Weir; make it again.")
    parsed: Report = _parse(Report, report)
    return parsed


def _parse(kind: Any, value: Any) -> Any:
    """``value`` as ``kind``, without fields that this version does not know."""
    if kind == Block:
        kind = _BLOCKS[value["kind"]]
    if get_origin(kind) is tuple:
        return tuple(_parse(get_args(kind)[0], item) for item in value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if not is_dataclass(kind) or not isinstance(kind, type):
        return value
    hints = _hints(kind)
    items = {name: item for name, item in value.items() if name in hints}
    if kind is Table:
        columns = _parse(tuple[Column, ...], items["columns"])
        rows = tuple(
            tuple(_value(row[column.key], column.unit) for column in columns)
            for row in items["rows"]
        )
        return Table(**items | {"columns": columns, "rows": rows})
    parsed = kind(**{name: _parse(hints[name], item) for name, item in items.items()})
    if isinstance(parsed, Fact):
        return replace(parsed, value=_value(parsed.value, parsed.unit))
    return parsed


def _value(value: Any, unit: Unit) -> Value:
    is_instant = unit == "instant" and isinstance(value, str)
    return datetime.fromisoformat(value) if is_instant else value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
