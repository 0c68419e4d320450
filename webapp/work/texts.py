"""Makes texts storable: PostgreSQL accepts no NUL and no lone surrogate. Secrets are removed too."""

import hashlib
import json
import re
from typing import Any

from ingest.messages import Message, with_texts
from ingest.redaction.documents import redact_texts
from ingest.redaction.suspicion import is_suspicious
from ingest.redaction.texts import redact

_SUSPECT_ESCAPE = re.compile(r"\\u(0000|[dD][89a-fA-F])")
_SURROGATES = re.compile("[\ud800-\udfff]")
_HASH_LENGTH = 16


def clean_text(text: str | None) -> str | None:
    return text.replace("\x00", "\ufffd") if text and "\x00" in text else text


def bounded(text: str | None, longest: int | None, unique: bool) -> str | None:
    """At most ``longest`` characters of the text (None: no limit). If ``unique``, for keys, a hash
    of the whole text replaces its end.
    """
    text = clean_text(text)
    if text is None or longest is None or len(text) <= longest:
        return text
    if not unique:
        return text[: longest - 1] + "…"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{text[: longest - _HASH_LENGTH - 1]}…{digest}"


def redacted_text(text: str | None) -> str | None:
    """The text without secrets. Not for identifiers of rows, which must not change."""
    return redact(text) if text else text


def redacted_json(document: str | None) -> str | None:
    document = clean_json(document)
    if document is None or not (is_suspicious(document) or "\\u" in document):
        return document
    return json.dumps(redact_texts(json.loads(document)), ensure_ascii=False)


def clean_json(document: str | None) -> str | None:
    """The JSON document, written again only if it may contain a text that cannot be stored; then
    ``ValueError`` is raised if it is not JSON.
    """
    if document is None or not (_SUSPECT_ESCAPE.search(document) or "\x00" in document):
        return document
    return json.dumps(storable(json.loads(document)), ensure_ascii=False)


def storable(value: Any) -> Any:
    if isinstance(value, Message):
        return with_texts(value, storable)
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value.replace("\x00", "\ufffd"))
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value


def tail(text: str, most_bytes: int) -> str:
    """The end of a log; a cut log starts at the beginning of a line."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most_bytes:
        return clean_text(text) or ""
    cut = raw[-most_bytes:].decode("utf-8", "ignore")
    return clean_text(cut.partition("\n")[2] or cut) or ""
