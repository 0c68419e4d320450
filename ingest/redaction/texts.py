"""The one place where secrets are removed from texts, for every output: :func:`redact` or, for
decoded JSON, :func:`ingest.redaction.documents.redact_document`. It is idempotent, takes time
linear in the text, and leaves its structure. A new spelling of secrets is a line of
``tests/fixtures/redaction/secrets.jsonl``; texts that look alike and are no secret are in
``honest.jsonl``. Whatever shows, sends or stores a text that others wrote calls :func:`redact`, or
is filled by the loader, which does.
"""

from collections.abc import Iterator

from ingest.messages import Message, with_texts
from ingest.redaction.blocks import redact_blocks
from ingest.redaction.pairs import redact_pairs
from ingest.redaction.shapes import redact_shapes
from ingest.redaction.suspicion import is_suspicious
from ingest.redaction.urls import redact_urls

LONG = 4_096
"""From here on a text is looked at line by line: most lines of a log hold nothing, and that is seen
quickly.
"""
LINES_AFTER = 3
"""``<name>``, ``<value>`` and blocks of YAML stand on lines of their own."""


MOST_PASSES = 8
"""What is hidden may change how the signs beside it are read; it is looked at again until nothing
changes.
"""


def redact(text: str) -> str:
    """``text`` with ``******`` where a password, a token or a key stood."""
    if isinstance(text, Message):
        return with_texts(text, redact) if is_suspicious(text) else text
    text = redact_blocks(text)
    if not is_suspicious(text):
        return text
    return "".join(_by_groups(text)) if len(text) > LONG and "\n" in text else _redacted(text)


def _redacted(text: str) -> str:
    for _ in range(MOST_PASSES):
        before, text = text, redact_pairs(redact_shapes(redact_urls(redact_blocks(text))))
        if text == before:
            break
    return text


def _by_groups(text: str) -> Iterator[str]:
    group: list[str] = []
    left = 0
    for line in text.splitlines(keepends=True):
        left = LINES_AFTER if is_suspicious(line) else left - 1
        if left >= 0:
            group.append(line)
            continue
        if group:
            yield _redacted("".join(group))
            group.clear()
        yield line
    if group:
        yield _redacted("".join(group))
