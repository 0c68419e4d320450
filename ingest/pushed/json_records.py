"""JSON as Fluent Bit's ``http`` output, Vector's ``http`` sink and Logstash send it: lines, one
list, or concatenated documents.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ingest.errors import Refused
from ingest.json_bounds import pushed_hooks, values_in
from ingest.pushed import bounds
from ingest.pushed.bounds import TooLarge
from ingest.pushed.entries import SHOWN_CHARACTERS, Entry, Processes, entry_of
from ingest.records import Skip

MAX_DAMAGES = 1_000
MAX_VAIN_CHARACTERS = 2_000_000
"""Characters that may be parsed again because an earlier beginning was no JSON."""
WINDOW_CHARACTERS = 256 * 1024

_BETWEEN = re.compile(r"[ \t\r\n,\[\]]*")


def entries(body: bytes) -> Iterator[Entry | Skip]:
    """Other content is skipped up to the next line. Raises :class:`TooLarge`, :class:`Refused`."""
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
        shown = ascii(written[:SHOWN_CHARACTERS])
        if document is None:
            yield Skip(shown, "not_json", "There is no whole JSON object.")
        else:
            entry = entry_of(document, written=written, process_at=processes)
            yield entry or Skip(shown, "no_text", "It has no field with the text of a log line.")


def _objects(text: str, decoder: json.JSONDecoder) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """Each object as written; ``None`` and the beginning of what is no object."""
    at, damages, may_be_in_vain = _begin(text, 0), 0, len(text) + MAX_VAIN_CHARACTERS
    while at < len(text):
        if at > WINDOW_CHARACTERS:
            text, at = text[at:], 0
        begun = at
        try:
            document, at = decoder.raw_decode(text, at)
            written = text[begun:at]
        except (ValueError, RecursionError) as error:
            document = None
            written = text[begun : begun + SHOWN_CHARACTERS]
            damages = damages + 1
            may_be_in_vain = may_be_in_vain - (_looked_at(error, len(text)) - begun)
            if damages > MAX_DAMAGES or may_be_in_vain < 0:
                raise Refused(
                    f"The body has {damages:,} places without a whole JSON object, the last one at "
                    f"{written!r}; send JSON objects, one a line or in a list."
                ) from error
            line = text.find("\n", begun)
            at = len(text) if line < 0 else line
        yield (document if isinstance(document, dict) else None), written
        at = _begin(text, at)


def _begin(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _looked_at(error: Exception, end: int) -> int:
    return (
        error.pos
        if isinstance(error, json.JSONDecodeError) and not error.msg.startswith("Unterminated")
        else end
    )
