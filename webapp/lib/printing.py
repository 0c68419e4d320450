"""Output of commands for people and machines: rows as lines, while somebody reads them."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder


def json_line(names: Sequence[str], values: Sequence[Any]) -> str:
    """One object on one line; ``values`` in the order of ``names``, instants as ISO 8601 in UTC."""
    return json.dumps(
        dict(zip(names, values, strict=True)),
        default=_instant,
        ensure_ascii=False,
        separators=(", ", ": "),
    )


def print_document(out: OutputWrapper, document: Mapping[str, Any]) -> None:
    print_lines(out, [json.dumps(document, cls=DjangoJSONEncoder, ensure_ascii=False)])


def print_lines(out: OutputWrapper, lines: Iterable[str]) -> None:
    """Write the lines one by one. A reader that stops early (head, less) ends it without an error."""
    try:
        for line in lines:
            out.write(line)
        out.flush()
    except BrokenPipeError:
        # The interpreter flushes again at its end, which must not raise either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _instant(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(type(value).__name__)
