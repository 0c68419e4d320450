"""Attributes and values of OTLP as plain values, from its protobuf and its JSON mapping. Numbers and
bytes are texts, as in JSON.

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
"""Most levels of a body that is not a text."""

_KINDS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")


def attributes(pairs: Iterable[KeyValue], parts: Count, depth: int = 0) -> dict[str, Any]:
    return {pair.key: value(pair.value, parts, depth) for pair in pairs}


def value(source: AnyValue, parts: Count, depth: int = 0) -> Any:
    match source.WhichOneof("value"):
        case "string_value":
            return source.string_value
        case _ if depth > MAX_DEPTH:
            return None
        case "int_value":
            return str(source.int_value)
        case "double_value":
            _count_double(parts, depth)
            return (
                source.double_value
                if math.isfinite(source.double_value)
                else str(source.double_value)
            )
        case "bool_value":
            return source.bool_value
        case "bytes_value":
            return base64.b64encode(source.bytes_value).decode()
        case "kvlist_value":
            parts.add(len(source.kvlist_value.values))
            return attributes(source.kvlist_value.values, parts, depth + 1)
        case "array_value":
            parts.add(len(source.array_value.values))
            return [value(item, parts, depth + 1) for item in source.array_value.values]
    return None


def attributes_of_json(source: Any, name: str, parts: Count, depth: int = 0) -> dict[str, Any]:
    pairs = [
        pair
        for pair in counted_list(source, name, parts)
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    ]
    return {pair["key"]: value_of_json(pair.get("value"), parts, depth) for pair in pairs}


def value_of_json(source: Any, parts: Count, depth: int = 0) -> Any:
    if not isinstance(source, dict) or depth > MAX_DEPTH:
        return None
    if "kvlistValue" in source:
        return attributes_of_json(source["kvlistValue"], "values", parts, depth + 1)
    if "arrayValue" in source:
        return [
            value_of_json(item, parts, depth + 1)
            for item in counted_list(source["arrayValue"], "values", parts)
        ]
    value = next(
        (source[kind] for kind in _KINDS if isinstance(source.get(kind), str | int | bytes)), None
    )
    if not isinstance(value, bytes):
        return value
    _count_double(parts, depth)
    return float(value) if len(value) <= MAX_NUMBER_CHARACTERS else value.decode()


def _count_double(parts: Count, depth: int) -> None:
    """Nested doubles count as parts: writing each as JSON takes 3 µs."""
    parts.add(depth > 0)


def counted_list(source: Any, name: str, parts: Count) -> list[Any]:
    values = source.get(name) if isinstance(source, dict) else None
    if not isinstance(values, list):
        return []
    parts.add(len(values))
    return values
