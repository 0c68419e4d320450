"""Attributes and values of OTLP as plain values, from its protobuf and from its JSON mapping;
numbers and bytes are texts as in the latter.

Source: ``opentelemetry/proto/common/v1/common.proto`` and the JSON mapping of the OTLP
specification.
"""

import base64
import math
from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from ingest.json_bounds import MAX_NUMBER_CHARACTERS
from ingest.pushed.bounds import Count

MAX_DEPTH = 16
"""Of a body that is no text."""

_KINDS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")


def attributes(pairs: Iterable[KeyValue], parts: Count, depth: int = 0) -> dict[str, Any]:
    return {pair.key: value(pair.value, parts, depth) for pair in pairs}


def value(of: AnyValue, parts: Count, depth: int = 0) -> Any:
    """A protobuf value; ``None`` below ``MAX_DEPTH``."""
    match of.WhichOneof("value"):
        case "string_value":
            return of.string_value
        case _ if depth > MAX_DEPTH:
            return None
        case "int_value":
            return str(of.int_value)
        case "double_value":
            _count_double(parts, depth)
            return of.double_value if math.isfinite(of.double_value) else str(of.double_value)
        case "bool_value":
            return of.bool_value
        case "bytes_value":
            return base64.b64encode(of.bytes_value).decode()
        case "kvlist_value":
            parts.add(len(of.kvlist_value.values))
            return attributes(of.kvlist_value.values, parts, depth + 1)
        case "array_value":
            parts.add(len(of.array_value.values))
            return [value(item, parts, depth + 1) for item in of.array_value.values]
    return None


def attributes_of_json(of: Any, name: str, parts: Count, depth: int = 0) -> dict[str, Any]:
    pairs = [
        pair
        for pair in listed(of, name, parts)
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    ]
    return {pair["key"]: value_of_json(pair.get("value"), parts, depth) for pair in pairs}


def value_of_json(of: Any, parts: Count, depth: int = 0) -> Any:
    if not isinstance(of, dict) or depth > MAX_DEPTH:
        return None
    if "kvlistValue" in of:
        return attributes_of_json(of["kvlistValue"], "values", parts, depth + 1)
    if "arrayValue" in of:
        return [
            value_of_json(item, parts, depth + 1)
            for item in listed(of["arrayValue"], "values", parts)
        ]
    value = next((of[kind] for kind in _KINDS if isinstance(of.get(kind), str | int | bytes)), None)
    if not isinstance(value, bytes):
        return value
    _count_double(parts, depth)
    return float(value) if len(value) <= MAX_NUMBER_CHARACTERS else value.decode()


def _count_double(parts: Count, depth: int) -> None:
    """Writing a double as JSON takes 3 µs."""
    parts.add(depth > 0)


def listed(of: Any, name: str, parts: Count) -> list[Any]:
    values = of.get(name) if isinstance(of, dict) else None
    if not isinstance(values, list):
        return []
    parts.add(len(values))
    return values
