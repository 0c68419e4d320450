"""Database rows as samples for the fold and the rules: instants are epoch ms."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import QuerySet

from spark_jobs.fold.history import columns_read, sample
from webapp.lib.instants import epoch_ms

SampleT = TypeVar("SampleT")


def in_ms(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: epoch_ms(value) if isinstance(value, datetime) else value
        for name, value in row.items()
    }


def rows_of(part: type, rows: QuerySet[Any], *more: str) -> Iterator[dict[str, Any]]:
    """The columns of ``rows`` that a sample (``part``) needs, and ``more``."""
    columns = columns_read(part, {field.name for field in rows.model._meta.fields})
    return map(in_ms, rows.values(*dict.fromkeys([*filter(None, columns), *more])))


def samples_of(part: type[SampleT], rows: QuerySet[Any], *only: str) -> Iterator[SampleT]:
    """Samples of the columns ``only``, or of all that a sample needs."""
    values = map(in_ms, rows.values(*only)) if only else rows_of(part, rows)
    return (sample(part, row) for row in values)
