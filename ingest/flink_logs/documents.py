"""Turns other files into lines: JSON and CSV, which log stores export, and UTF-16."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

import orjson

READ_BYTES = 1024 * 1024
MOST_BYTES = 64 * 1024 * 1024
"""A larger JSON document is read as lines."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LISTS = ("events", "results", "hits", "data", "result", "entries")
_DOCUMENT = re.compile(
    rb'\s*(?:\[\s*[\[{]|\{\s*(?:\n|"(?:took|status|' + "|".join(_LISTS).encode() + rb')"))'
)
_BETWEEN_OBJECTS = re.compile(rb"(?<=\n\})\s*(?=\{\s*\n)")
"""Where log4j's ``JsonLayout`` ends an object over several lines."""
_TEXT_COLUMNS = (
    "@message",
    "_raw",
    "message",
    "logentry",
    "logmessage",
    "textpayload",
    "log",
    "content",
)
_TIME_COLUMNS = ("@timestamp", "timestamp", "_time", "time", "date")
_TABLE = re.compile(
    rb'(?i)(?:[^\n0-9]{0,500},)?"?(?:'
    + "|".join(_TEXT_COLUMNS).encode()
    + rb')"?(?:,[^\n0-9]{0,500})?\r?\n'
)
_INSIGHTS_TIME = re.compile(r"[0-9-]{10} [0-9:]{8}\.[0-9]{3}")


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    data = stream.read(READ_BYTES)
    if data[:2] in _UTF_16:
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        while data:
            yield decoder.decode(data).encode()
            data = stream.read(READ_BYTES)
    convert = None
    if _DOCUMENT.match(data):
        convert = _json_rows
    elif _is_table(data):
        convert = _csv_rows
    if convert:
        data += stream.read(MOST_BYTES)
        with suppress(ValueError, TypeError, RecursionError, csv.Error):
            data = b"".join(orjson.dumps(row) + b"\n" for row in convert(data))
    while data:
        yield data
        data = stream.read(READ_BYTES)


def _is_table(data: bytes) -> bool:
    match = _TABLE.match(data)
    return bool(match and b"," in match[0])


def _json_rows(data: bytes) -> Iterator[Any]:
    return _rows([orjson.loads(element) for element in _BETWEEN_OBJECTS.split(data.strip())])


def _rows(document: Any) -> Iterator[Any]:
    if isinstance(document, list):
        for element in document:
            # A row of CloudWatch Logs Insights.
            if isinstance(element, list) and all(
                isinstance(cell, dict) and "field" in cell for cell in element
            ):
                yield {cell["field"]: cell.get("value") for cell in element}
            else:
                yield from _rows(element)
    elif isinstance(document, dict):
        members = (document.get(name) for name in _LISTS)
        records = next((member for member in members if isinstance(member, list | dict)), None)
        if records is not None:
            yield from _rows(records)
        elif isinstance(document.get("values"), list):  # a stream of Loki
            for _, line in document["values"]:
                yield {"labels": document.get("stream"), "line": line}
        else:
            yield document


def _csv_rows(data: bytes) -> Iterator[Any]:
    table = csv.DictReader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    names = {name.lower(): name for name in table.fieldnames or ()}
    text_column = next(names[name] for name in _TEXT_COLUMNS if name in names)
    time_column = next((names[name] for name in _TIME_COLUMNS if name in names), "")
    for row in table:
        text, time = row[text_column] or "", row.get(time_column) or ""
        if text[:1] == "{":
            if _INSIGHTS_TIME.fullmatch(time):
                time += "Z"
            yield {"@timestamp": int(time) if time.isdecimal() else time, "@message": text}
        else:
            yield {"labels": None, "line": text}
