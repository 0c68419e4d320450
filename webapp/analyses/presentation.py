"""Blocks of a document as the templates draw them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp.analyses.document import Block, Column, Document, Facts, Link, Table, Unit, Value
from webapp.analyses.values import NUMERIC, shown

MOST_SHOWN = 100
"""Rows of a table; the API has all."""


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
class ShownTable:
    table: Table
    columns: tuple[ShownColumn, ...]
    rows: tuple[tuple[ShownCell, ...], ...]

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
    """A template for each block, and what it draws."""
    for block in document.blocks:
        yield f"analyses/_{block.kind}.html", _shown(block)


def _shown(block: Block) -> Any:
    if isinstance(block, Facts):
        return [(fact, _cell(fact.value, fact.unit)) for fact in block.facts]
    if isinstance(block, Table):
        columns = tuple(ShownColumn(column, _css(column.unit)) for column in block.columns)
        rows = tuple(
            tuple(
                _cell(value, column.unit) for value, column in zip(row, block.columns, strict=True)
            )
            for row in block.rows[:MOST_SHOWN]
        )
        return ShownTable(block, columns, rows)
    return block


def _cell(value: Value, unit: Unit) -> ShownCell:
    text, css = shown(value, unit), _css(unit)
    if isinstance(value, Link):
        return ShownCell(text, css, value.url)
    own = {unit: value} if unit in {"host", "stack"} and isinstance(value, str) else {}
    return ShownCell(text, css, **own)


def _css(unit: Unit) -> str:
    if unit in NUMERIC:
        return "n"
    return {"mono": "mono text", "instant": "nowrap", "flag": "nowrap"}.get(unit, "text")
