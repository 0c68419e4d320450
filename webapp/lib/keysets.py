"""Keyset paging: all pages cost the same, and rows may move between pages.

An order is a tuple of keys that ends in a unique one. Keys are never null: nullable columns are
coalesced, so that the same index and comparison work on SQLite and PostgreSQL.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from django.db.models import Field, Model, Q, QuerySet
from django.db.models.expressions import Combinable

from webapp.lib.cursor_values import UnfitValue, from_json, to_json

RowT = TypeVar("RowT", bound=Model)
_LONGEST_CURSOR = 8_000


class BadCursor(ValueError):
    """The cursor is not from this page; the reader starts again at the first page."""


@dataclass(frozen=True)
class KeysetColumn:
    """One key of an order: a field called ``name``, or ``expression`` annotated under that name."""

    name: str
    descending: bool = False
    expression: Combinable | None = None

    @property
    def order_by(self) -> str:
        return f"-{self.name}" if self.descending else self.name

    @property
    def reversed(self) -> "KeysetColumn":
        return replace(self, descending=not self.descending)


def newest_first(field: str) -> tuple[KeysetColumn, ...]:
    return KeysetColumn(field, descending=True), KeysetColumn("id", descending=True)


NEWEST_ROWS_FIRST = (KeysetColumn("id", descending=True),)


@dataclass(frozen=True)
class Page(Generic[RowT]):
    """Rows in order; a cursor is empty if there is nothing further in its direction."""

    rows: list[RowT]
    next_cursor: str = ""
    previous_cursor: str = ""


def page(
    queryset: "QuerySet[RowT]", keys: Sequence[KeysetColumn], cursor: str, size: int
) -> "Page[RowT]":
    """One page of ``queryset`` with one query; raises :class:`BadCursor`."""
    annotated = queryset.annotate(
        **{key.name: key.expression for key in keys if key.expression is not None}
    )
    backwards, values = (
        _decode(cursor, [_column(annotated, key) for key in keys]) if cursor else (False, None)
    )
    order = [key.reversed for key in keys] if backwards else list(keys)
    if values is not None:
        annotated = annotated.filter(_after(order, values))
    rows = list(annotated.order_by(*(key.order_by for key in order))[: size + 1])
    more, rows = len(rows) > size, rows[:size]
    if backwards:
        rows.reverse()
    if not rows:
        return Page([])
    has_next, has_previous = (True, more) if backwards else (more, bool(cursor))
    return Page(
        rows,
        _encode(False, rows[-1], keys) if has_next else "",
        _encode(True, rows[0], keys) if has_previous else "",
    )


def _after(keys: Sequence[KeysetColumn], values: Sequence[Any]) -> Q:
    """Rows behind ``values``; the separate bound on the first key lets the database start inside
    the index.
    """
    condition = Q()
    for position, key in enumerate(keys):
        beyond = Q(**{f"{key.name}__{'lt' if key.descending else 'gt'}": values[position]})
        for earlier, value in zip(keys[:position], values[:position], strict=True):
            beyond &= Q(**{earlier.name: value})
        condition |= beyond
    first = keys[0]
    return Q(**{f"{first.name}__{'lte' if first.descending else 'gte'}": values[0]}) & condition


def _encode(backwards: bool, row: Model, keys: Sequence[KeysetColumn]) -> str:
    values = [to_json(getattr(row, key.name)) for key in keys]
    return (
        base64.urlsafe_b64encode(
            json.dumps([backwards, values], ensure_ascii=False, separators=(",", ":")).encode()
        )
        .decode()
        .rstrip("=")
    )


def _decode(cursor: str, columns: "Sequence[Field[Any, Any]]") -> tuple[bool, list[Any]]:
    """The values of a cursor, if they fit ``columns``, else it is refused. The only place where
    cursors are read.
    """
    if len(cursor) > _LONGEST_CURSOR:
        raise BadCursor("The page link is too long.")
    try:
        backwards, values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadCursor("The page link is damaged.") from error
    if (
        not isinstance(backwards, bool)
        or not isinstance(values, list)
        or len(values) != len(columns)
    ):
        raise BadCursor("The page link belongs to another order.")
    try:
        return backwards, [
            from_json(value, column) for value, column in zip(values, columns, strict=True)
        ]
    except UnfitValue as error:
        raise BadCursor("The page link does not fit this order.") from error


def _column(queryset: "QuerySet[Any]", key: KeysetColumn) -> "Field[Any, Any]":
    annotated = queryset.query.annotations
    column: Field[Any, Any] = (
        annotated[key.name].output_field
        if key.expression
        else queryset.model._meta.get_field(key.name)
    )
    return column
