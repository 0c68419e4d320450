"""Keyset paging: a cursor has the values of the last row, so all pages cost the same. An order is a
tuple of columns, the last one unique. Columns are never null: nullable ones are coalesced, so that
the same index and comparison work on SQLite and PostgreSQL.
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
    """The reader starts again at the first page."""


@dataclass(frozen=True)
class KeysetColumn:
    """The field ``name``, or the ``expression`` that is annotated under this name."""

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
    """A cursor is "" if there are no more rows in its direction."""

    rows: list[RowT]
    next_cursor: str = ""
    previous_cursor: str = ""


def page(
    queryset: "QuerySet[RowT]", keys: Sequence[KeysetColumn], cursor: str, size: int
) -> "Page[RowT]":
    """One query. Raises :class:`BadCursor`."""
    annotated = queryset.annotate(
        **{key.name: key.expression for key in keys if key.expression is not None}
    )
    backwards, order = False, list(keys)
    if cursor:
        backwards, values = _decode(cursor, [_column(annotated, key) for key in keys])
        if backwards:
            order = [key.reversed for key in keys]
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
    """Rows after ``values``. The bound on the first key, which the condition implies, lets the
    database begin inside the index.
    """
    condition = Q()
    for position, key in enumerate(keys):
        is_after = Q(**{f"{key.name}__{'lt' if key.descending else 'gt'}": values[position]})
        for earlier, value in zip(keys[:position], values[:position], strict=True):
            is_after &= Q(**{earlier.name: value})
        condition |= is_after
    first = keys[0]
    return Q(**{f"{first.name}__{'lte' if first.descending else 'gte'}": values[0]}) & condition


def _encode(backwards: bool, row: Model, keys: Sequence[KeysetColumn]) -> str:
    values = [to_json(getattr(row, key.name)) for key in keys]
    text = json.dumps([backwards, values], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, columns: "Sequence[Field[Any, Any]]") -> tuple[bool, list[Any]]:
    """Whether the cursor leads backwards, and its values. Raises :class:`BadCursor`."""
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
    annotations = queryset.query.annotations
    column: Field[Any, Any] = (
        annotations[key.name].output_field
        if key.expression
        else queryset.model._meta.get_field(key.name)
    )
    return column
