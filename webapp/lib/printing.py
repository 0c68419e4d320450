import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder

from webapp.lib.instants import iso_text


def json_line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, default=_instant, ensure_ascii=False)


def print_document(out: OutputWrapper, document: Mapping[str, Any]) -> None:
    print_lines(out, [json.dumps(document, cls=DjangoJSONEncoder, ensure_ascii=False)])


def print_lines(out: OutputWrapper, lines: Iterable[str]) -> None:
    """The reader (head, less) may stop early."""
    try:
        for line in lines:
            out.write(line)
        out.flush()
    except BrokenPipeError:
        # The interpreter flushes again when it exits, which must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _instant(value: object) -> str:
    if isinstance(value, datetime):
        return iso_text(value)
    raise TypeError(type(value).__name__)
