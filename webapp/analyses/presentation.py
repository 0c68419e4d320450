from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext

from ingest.messages import Message
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Facts,
    Link,
    Table,
    Unit,
    Value,
    public_fields,
)
from webapp.lib import instants, quantities
from webapp.lib.messages.rendering import localised

NUMERIC: frozenset[Unit] = frozenset(
    {"count", "number", "ms", "bytes", "binary", "share", "factor", "per_s", "checkpoint"}
)
_FORMATS: Mapping[Unit, Any] = {
    "count": quantities.count_text,
    "ms": quantities.duration_text,
    "bytes": quantities.bytes_text,
    "binary": quantities.binary_text,
    "share": quantities.percent_text,
    "factor": quantities.times_text,
    "per_s": quantities.per_second_text,
    "instant": instants.instant_text,
}


def value_text(value: Value, unit: Unit) -> str:
    """The value in the reader's language and time zone; a dash if it is unknown."""
    if value is None or value == "":
        return quantities.UNKNOWN
    if isinstance(value, Link):
        return localised(value.text)
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, str):
        if unit == "mono" and not isinstance(value, Message):
            return value  # an option's name may also be a word in a catalogue
        return localised(value).partition("\n")[0] if unit == "stack" else localised(value)
    if unit in _FORMATS:
        return str(_FORMATS[unit](value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """JSON data: rows are objects by column key, instants ISO 8601 in UTC, texts English."""
    if isinstance(value, Link):
        return value.text
    if is_dataclass(value) and not isinstance(value, type):
        by_name = {field.name: plain(getattr(value, field.name)) for field in public_fields(value)}
        if isinstance(value, Table):
            keys = [column.key for column in value.columns]
            by_name["rows"] = [dict(zip(keys, row, strict=True)) for row in by_name["rows"]]
        return by_name
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value


MOST_ROWS = 100
"""Pages show so many rows of a table; the API has all."""


@dataclass(frozen=True)
class ShownCell:
    text: str
    css: str
    url: str = ""
    host: str = ""
    stack: str = ""


@dataclass(frozen=True)
class ShownColumn:
    column: Column
    css: str


@dataclass(frozen=True)
class ShownRow:
    """``below``: texts that a narrow screen shows below the first cell, instead of in columns."""

    cells: Sequence[ShownCell]
    below: Sequence[tuple[Column, ShownCell]]


@dataclass(frozen=True)
class ShownTable:
    table: Table
    columns: Sequence[ShownColumn]
    rows: Sequence[ShownRow]

    @property
    def total(self) -> int:
        return self.table.total or len(self.table.rows)

    @property
    def is_cut(self) -> bool:
        return self.total > len(self.rows)

    @property
    def others_are_in_api(self) -> bool:
        return self.total == len(self.table.rows)


def blocks(document: Document) -> Iterator[tuple[str, Any]]:
    for block in document.blocks:
        yield f"analyses/_{block.kind}.html", _present(block)


def _present(block: Block) -> Any:
    if isinstance(block, Facts):
        return [(fact, _cell(fact.value, fact.unit, _css(fact.unit))) for fact in block.facts]
    if isinstance(block, Table):
        first, *others = (ShownColumn(column, _css(column.unit)) for column in block.columns)
        columns = [
            first,
            *(replace(it, css=f"{it.css} medium") if _is_below(it.column) else it for it in others),
        ]
        return ShownTable(block, columns, [_row(row, columns) for row in block.rows[:MOST_ROWS]])
    return block


def _is_below(column: Column) -> bool:
    return column.unit in {"text", "mono", "host"}


def _row(row: Sequence[Value], columns: Sequence[ShownColumn]) -> ShownRow:
    cells = [
        _cell(value, shown.column.unit, shown.css)
        for value, shown in zip(row, columns, strict=True)
    ]
    below = [
        (shown.column, cell)
        for shown, cell in zip(columns[1:], cells[1:], strict=True)
        if _is_below(shown.column) and cell.text != quantities.UNKNOWN
    ]
    return ShownRow(cells, below)


def _cell(value: Value, unit: Unit, css: str) -> ShownCell:
    text = value_text(value, unit)
    if isinstance(value, Link):
        return ShownCell(text, css, value.url)
    extra = {unit: value} if unit in {"host", "stack"} and isinstance(value, str) else {}
    return ShownCell(text, css, **extra)


def _css(unit: Unit) -> str:
    if unit in NUMERIC:
        return "n"
    return {"mono": "mono text", "instant": "nowrap", "flag": "nowrap"}.get(unit, "text")
