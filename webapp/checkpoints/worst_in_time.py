"""The worst checkpoint of each slice of time, selected by the database."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, DateTimeField, Max, Min, Q
from django.db.models.expressions import OrderBy, RawSQL

MOST_FACTS = 50_000
"""A chart shows only the newest: a month at one checkpoint a minute."""


@dataclass(frozen=True)
class Selection:
    """The first of ``among`` by ``worst_first``, of each of ``limit`` equal slices of time."""

    limit: int
    worst_first: Sequence[OrderBy]
    among: Q


@dataclass(frozen=True)
class Worst:
    """``ids`` of rows in order of time; ``total``: the number of all rows."""

    ids: Sequence[int]
    total: int


def worst_in_time(facts: Any, *selections: Selection) -> list[Worst]:
    """The worst rows of each selection. One query for all, and one for each."""
    spans = _spans(facts, selections)
    if spans.pop("total") > MOST_FACTS:
        facts = _newest(facts)
        spans = _spans(facts, selections)
    worst = []
    for number, selection in enumerate(selections):
        first, last, total = (spans[f"{name}_{number}"] for name in ("first", "last", "total"))
        rows = facts.filter(selection.among)
        if total <= selection.limit:
            ids = list(rows.order_by("trigger_time", "id").values_list("pk", flat=True))
        else:
            ids = _worst_of_each(
                rows.order_by(*selection.worst_first, "trigger_time", "id"),
                list(_slices(first, last, selection.limit)),
            )
        worst.append(Worst(ids, total))
    return worst


def _spans(facts: Any, selections: Sequence[Selection]) -> dict[str, Any]:
    figures: dict[str, Any] = {"total": Count("pk")}
    for number, selection in enumerate(selections):
        figures[f"first_{number}"] = Min("trigger_time", filter=selection.among)
        figures[f"last_{number}"] = Max("trigger_time", filter=selection.among)
        figures[f"total_{number}"] = Count("pk", filter=selection.among)
    spans: dict[str, Any] = facts.order_by().aggregate(**figures)
    return spans


def _newest(facts: Any) -> Any:
    at, pk = facts.order_by("-trigger_time", "-id").values_list("trigger_time", "pk")[
        MOST_FACTS - 1
    ]
    return facts.filter(Q(trigger_time__gt=at) | Q(trigger_time=at, pk__gte=pk))


def _slices(first: datetime, last: datetime, limit: int) -> Iterator[tuple[datetime, datetime]]:
    """First and last instant of each slice, to the microsecond of databases."""
    width = (last - first) / limit or timedelta(milliseconds=1)
    for number in range(limit):
        from_time = first + width * number
        if from_time > last:
            return
        yield (
            from_time,
            last if number == limit - 1 else from_time + width - timedelta(microseconds=1),
        )


def _worst_of_each(rows: Any, slices: Sequence[tuple[datetime, datetime]]) -> list[int]:
    """``rows``: worst first. Ranges of the index cost less than sorting all rows by slice."""
    in_slice = {
        "trigger_time__gte": RawSQL("slice.begins", (), output_field=DateTimeField()),
        "trigger_time__lte": RawSQL("slice.ends", (), output_field=DateTimeField()),
    }
    worst, parameters = rows.filter(**in_slice).values("pk")[:1].query.sql_with_params()
    adapted = [
        connection.ops.adapt_datetimefield_value(instant)
        for slice_of_time in slices
        for instant in slice_of_time
    ]
    slices_cte = f"WITH slice (begins, ends) AS (VALUES {', '.join(['(%s, %s)'] * len(slices))})"
    # Django's own query
    query = f"{slices_cte} SELECT ({worst}) FROM slice ORDER BY begins"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query, [*adapted, *parameters])
        return [pk for (pk,) in cursor.fetchall() if pk is not None]
