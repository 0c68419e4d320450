"""Tables as CSV downloads, streamed, so that their length costs no memory."""

import csv
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import StreamingHttpResponse

from webapp.lib.instants import iso_text

_SEPARATORS = re.compile(r"([;\r\n])")
_FORMULA_STARTS = ("=", "+", "-", "@", "\u2212")
_CONTROLS = ("\t", "\r", "\n")
_UNSEEN = "CZM"
"""General categories of Unicode that are invisible: controls and formats, separators, marks."""

_FILLERS = "\u115f\u1160\u3164\uffa0\u2800"
"""Invisible letters and a symbol."""


def safe_cell(value: Any) -> Any:
    """Texts that a spreadsheet would run as a formula get a leading apostrophe; numbers stay
    numbers. Spreadsheets skip invisible characters, and some accept full-width forms of a sign
    (OWASP, CSV injection). In locales with semicolons between cells, a semicolon in a text begins a
    cell, as a line end does.
    """
    if value is None:
        return ""
    if isinstance(value, (int, float, Decimal)):
        return value
    if isinstance(value, datetime):
        return iso_text(value)
    is_nested = isinstance(value, dict | list)
    text = json.dumps(value, ensure_ascii=False, default=str) if is_nested else str(value)
    first, *others = _SEPARATORS.split(text)
    parts = zip(others[::2], others[1::2], strict=True)
    safe = first + "".join(at + "'" * _is_formula(part) + part for at, part in parts)
    return f"'{safe}" if _is_formula(text) or text.lstrip(" ").startswith(_CONTROLS) else safe


def _is_formula(text: str) -> bool:
    for letter in text:
        if unicodedata.category(letter)[0] not in _UNSEEN and letter not in _FILLERS:
            return unicodedata.normalize("NFKC", letter).startswith(_FORMULA_STARTS)
    return False


def export_response(
    name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> StreamingHttpResponse:
    """Unknown is an empty cell."""
    response = StreamingHttpResponse(
        _csv_lines(columns, rows), content_type="text/csv; charset=utf-8"
    )
    safe_name = "".join(
        letter if letter.isalnum() or letter in "-_." else "-" for letter in f"{name}.csv"
    )
    response["Content-Disposition"] = f'attachment; filename="{safe_name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


class _Line:
    """A target for csv whose ``write`` returns the line."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow([safe_cell(column) for column in columns])
    for row in rows:
        yield writer.writerow([safe_cell(row[column]) for column in columns])
