"""Columns for messages. Template and values are stored as JSON, so that old rows stay readable when
the code changes.
"""

import json
from typing import Any

from django.db import models

from ingest.messages import Message, as_message, message_document, to_plain

LONGEST_QUOTE = 4_000
"""Longest text that is no message."""


class MessageField(models.TextField):  # type: ignore[type-arg]  # no types of its own at run time
    """One message, or a plain text, stored as a quote."""

    description = "A sentence as its template and its values"

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return decoded(value)

    def get_prep_value(self, value: Any) -> Any:
        return encoded(value) if isinstance(value, str) else super().get_prep_value(value)


class MessagesField(models.JSONField):
    description = "JSON with messages in it"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "decoder": MessageDecoder})

    def deconstruct(self) -> Any:
        name, path, args, options = super().deconstruct()
        options.pop("decoder", None)
        return name, path, args, options

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(to_plain(value), connection, prepared)


class MessageDecoder(json.JSONDecoder):
    def __init__(self, **options: Any) -> None:
        super().__init__(object_hook=as_message, **options)


def encoded(text: str) -> str:
    """How :class:`MessageField` stores a message or a text; "" stays ""."""
    if not isinstance(text, Message):
        text = text[:LONGEST_QUOTE]
    return message_document(text) if text else ""


def decoded(stored: str | None) -> str | None:
    if not stored:
        return stored
    try:
        message = json.loads(stored, object_hook=as_message)
    except ValueError:
        return stored
    return message if isinstance(message, str) else stored
