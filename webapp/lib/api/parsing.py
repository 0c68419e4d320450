"""Reads JSON bodies: limited in size and depth, without texts that a database cannot store."""

import json
import math
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from ingest.json_bounds import values_in
from webapp.lib.api.exceptions import BodyTooLarge

LARGEST_BODY_BYTES = 2_500_000
DEEPEST = 64
MAX_VALUES = 300_000
"""As ``values_in`` counts; Weir's own bodies have at most some thousand values."""


class BoundedJson(BaseParser):
    """DRF's parser has no limits, and fails on endless brackets."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            body = stream.read(LARGEST_BODY_BYTES + 1)
        except OSError as error:
            raise ParseError("The body ended before its length.") from error
        if len(body) > LARGEST_BODY_BYTES:
            raise BodyTooLarge(f"Send at most {LARGEST_BODY_BYTES:,} bytes.")
        if (values := values_in(body)) > MAX_VALUES:
            raise BodyTooLarge(
                f"The body holds up to {values:,} values; send at most {MAX_VALUES:,}."
            )
        try:
            document = json.loads(body.decode(), parse_float=_finite, parse_constant=_no_number)
        except RecursionError as error:
            raise ParseError(f"The body is nested deeper than {DEEPEST} levels.") from error
        except ValueError as error:
            raise ParseError(f"The body is no JSON: {error}") from error
        _check(document)
        return document


class BoundedList(serializers.ListField):
    """Refuses a list that is too long before REST framework reads the items: 0.2 ms each."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and self.max_length and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)


def valid_input(serializer: serializers.BaseSerializer[Any]) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    entered: dict[str, Any] = serializer.validated_data
    return entered


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _no_number(text: str) -> float:
    raise ValueError(f"{text[:40]} is no number that can be kept.")


def _check(document: Any) -> None:
    unchecked = [(document, 1)]
    while unchecked:
        value, depth = unchecked.pop()
        if isinstance(value, str):
            _check_text(value)
        elif isinstance(value, dict | list):
            if depth > DEEPEST:
                raise ParseError(f"The body is nested deeper than {DEEPEST} levels.")
            parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
            unchecked += [(part, depth + 1) for part in parts]


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ParseError(f"The body holds half a character, {text[error.start]!r}.") from error
