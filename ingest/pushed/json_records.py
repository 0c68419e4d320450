"""JSON of Fluent Bit's ``http`` output, Vector's ``http`` sink and Logstash: lines, a list, or
concatenated documents.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ingest.errors import Refused
from ingest.json_bounds import pushed_hooks, values_in
from ingest.pushed import bounds
from ingest.pushed.bounds import TooLarge
from ingest.pushed.entries import SHOWN_CHARS, Entry, Processes, entry_of
from ingest.records import Skip

MAX_FAILURES = 1_000
MAX_VAIN_CHARS = 2_000_000
"""Most characters that may be parsed again after a start that was not JSON."""
WINDOW_CHARS = 256 * 1024

_BETWEEN = re.compile(r"[ \t\r\n,\[\]]*")


def entries(body: bytes) -> Iterator[Entry | Skip]:
    """Other content is skipped up to the next line. Raises ``TooLarge``, ``Refused``."""
    if (values := values_in(body)) > bounds.MAX_VALUES:
        raise TooLarge(
            f"The body holds up to {values:,} values, and at most {bounds.MAX_VALUES:,} are read; "
            "send smaller batches."
        )
    records, processes = bounds.records(), Processes()
    for document, written in _objects(
        body.decode("utf-8", "replace"), json.JSONDecoder(**pushed_hooks(body))
    ):
        records.add()
        excerpt = ascii(written[:SHOWN_CHARS])
        if document is None:
            yield Skip(excerpt, "not_json", "There is no whole JSON object.")
        else:
            entry = entry_of(document, written=written, process_at=processes)
            yield entry or Skip(excerpt, "no_text", "It has no field with the text of a log line.")


def _objects(text: str, decoder: json.JSONDecoder) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """Each object and its text; ``None`` and the beginning of the text if it is no object."""
    at, failures, vain_chars_left = _next_start(text, 0), 0, len(text) + MAX_VAIN_CHARS
    while at < len(text):
        if at > WINDOW_CHARS:
            text, at = text[at:], 0
        start = at
        try:
            document, at = decoder.raw_decode(text, at)
            written = text[start:at]
        except (ValueError, RecursionError) as error:
            document = None
            written = text[start : start + SHOWN_CHARS]
            failures += 1
            vain_chars_left -= _end_of_reading(error, len(text)) - start
            if failures > MAX_FAILURES or vain_chars_left < 0:
                raise Refused(
                    f"The body has {failures:,} places without a whole JSON object, the last one at "
                    f"{written!r}; send JSON objects, one a line or in a list."
                ) from error
            line = text.find("\n", start)
            at = len(text) if line < 0 else line
        yield (document if isinstance(document, dict) else None), written
        at = _next_start(text, at)


def _next_start(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _end_of_reading(error: Exception, end: int) -> int:
    return (
        error.pos
        if isinstance(error, json.JSONDecodeError) and not error.msg.startswith("Unterminated")
        else end
    )
