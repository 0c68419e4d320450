"""CSV downloads, streamed: long ones cost no memory."""

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
_INVISIBLE_CATEGORIES = "CZM"
"""First letters of Unicode's general categories: controls and formats, separators, marks."""
_INVISIBLE_LETTERS = "\u115f\u1160\u3164\uffa0\u2800"


def safe_cell(value: Any) -> Any:
    """Texts that a spreadsheet would run as a formula get a leading apostrophe (OWASP, CSV
    injection). Spreadsheets skip invisible characters, and some accept full-width signs. In some
    locales a semicolon separates cells, so each part of a text is checked.
    """
    if value is None:
        return ""
    if isinstance(value, (int, float, Decimal)):
        return value
    if isinstance(value, datetime):
        return iso_text(value)
    is_nested = isinstance(value, dict | list)
    text = json.dumps(value, ensure_ascii=False, default=str) if is_nested else str(value)
    first, *rest = _SEPARATORS.split(text)
    parts = zip(rest[::2], rest[1::2], strict=True)
    safe = first + "".join(mark + "'" * _is_formula(part) + part for mark, part in parts)
    return f"'{safe}" if _is_formula(text) or text.lstrip(" ").startswith(_CONTROLS) else safe


def _is_formula(text: str) -> bool:
    for letter in text:
        if (
            unicodedata.category(letter)[0] not in _INVISIBLE_CATEGORIES
            and letter not in _INVISIBLE_LETTERS
        ):
            return unicodedata.normalize("NFKC", letter).startswith(_FORMULA_STARTS)
    return False


def export_response(
    name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> StreamingHttpResponse:
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
