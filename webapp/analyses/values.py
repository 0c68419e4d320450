"""Values of a document as people read them, and as programs do."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext

from ingest.messages import Message
from webapp.analyses.document import Link, Table, Unit, Value
from webapp.lib import instants, quantities
from webapp.lib.messages.rendering import localised

NUMERIC: frozenset[Unit] = frozenset(
    {"count", "number", "ms", "bytes", "binary", "share", "factor", "per_s", "checkpoint"}
)
_WRITTEN: Mapping[Unit, Any] = {
    "count": quantities.count_text,
    "ms": quantities.duration_text,
    "bytes": quantities.bytes_text,
    "binary": quantities.binary_text,
    "share": quantities.percent_text,
    "factor": quantities.times_text,
    "per_s": quantities.per_second_text,
    "instant": instants.instant_text,
}


def shown(value: Value, unit: Unit) -> str:
    """In the language and the zone of the page; unknown is a dash."""
    if value is None or value == "":
        return quantities.UNKNOWN
    if isinstance(value, Link):
        return localised(value.text)
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, str):
        if unit == "mono" and not isinstance(value, Message):
            return value  # an option may be called as a word that a catalogue has
        return localised(value).partition("\n")[0] if unit == "stack" else localised(value)
    if unit in _WRITTEN:
        return str(_WRITTEN[unit](value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """What JSON takes: rows of a table as objects by the keys of their columns, instants as ISO
    8601 in UTC, texts in English.
    """
    if isinstance(value, Link):
        return value.text
    if isinstance(value, Table):
        keys = [column.key for column in value.columns]
        rows = [dict(zip(keys, map(plain, row), strict=True)) for row in value.rows]
        return {
            field.name: rows if field.name == "rows" else plain(getattr(value, field.name))
            for field in fields(value)
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value
