"""What the address of a list asks for, and how many rows answer it."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

COUNT_CAP = 1_000


def asked_text(parameters: Mapping[str, str], name: str, longest: int = 100) -> str:
    """Empty where it is not asked for. PostgreSQL refuses NUL in texts."""
    return parameters.get(name, "").replace("\x00", "").strip()[:longest]


def capped_count(rows: QuerySet[Any]) -> int:
    """At most ``COUNT_CAP + 1``."""
    return rows.order_by()[: COUNT_CAP + 1].count()
