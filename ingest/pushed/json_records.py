"""JSON as Fluent Bit's ``http`` output, Vector's ``http`` sink and Logstash send it: lines, one list, or one document behind the other."""

import json
from collections.abc import Iterator
from typing import Any

from ingest.json_bounds import MAX_VALUES, values_in
from ingest.pushed.bodies import TooLarge
from ingest.pushed.entries import Entry, entry_of
from ingest.records import Skip

MAX_DAMAGES = 1_000
"""After so many the rest of a body is not looked at: each costs a search."""

_DECODER = json.JSONDecoder()
_BETWEEN = " \t\r\n,[]"
_SHOWN = 80


def entries(body: bytes) -> Iterator[Entry | Skip]:
    """In the order of the body; what is no record is skipped up to the next line, with a reason. Raises :class:`TooLarge`."""
    if values_in(body) > MAX_VALUES:
        raise TooLarge(f"Send at most {MAX_VALUES:,} values at once.")
    for found in _objects(body.decode("utf-8", "replace")):
        if isinstance(found, Skip):
            yield found
        else:
            yield entry_of(found) or Skip(_shown(json.dumps(found)), "no_text", "It has no field with the text of a log line.")


def _objects(text: str) -> Iterator[dict[str, Any] | Skip]:
    at = damages = 0
    while damages < MAX_DAMAGES:
        while at < len(text) and text[at] in _BETWEEN:
            at += 1
        if at == len(text):
            return
        begun = at
        try:
            found, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            line = text.find("\n", at)
            at = len(text) if line < 0 else line
            found = None
        if isinstance(found, dict):
            yield found
        else:
            damages += 1
            yield Skip(_shown(text[begun : begun + _SHOWN]), "not_json", f"At character {begun} there is no whole JSON object.")


def _shown(text: str) -> str:
    return ascii(text[:_SHOWN])
