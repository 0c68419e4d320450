"""Attributes and values of OTLP as plain values, from protobuf and JSON. Numbers and bytes are
texts, as in JSON.

Source: ``opentelemetry/proto/common/v1/common.proto`` and the JSON mapping of the OTLP
specification.
"""

import base64
import math
from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from ingest.json_bounds import MAX_NUMBER_CHARS
from ingest.pushed.bounds import Count

MAX_DEPTH = 16

_KINDS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")


def attributes(pairs: Iterable[KeyValue], parts: Count, depth: int = 0) -> dict[str, Any]:
    return {pair.key: value(pair.value, parts, depth) for pair in pairs}


def value(any_value: AnyValue, parts: Count, depth: int = 0) -> Any:
    match any_value.WhichOneof("value"):
        case "string_value":
            return any_value.string_value
        case _ if depth > MAX_DEPTH:
            return None
        case "int_value":
            return str(any_value.int_value)
        case "double_value":
            _count_double(parts, depth)
            return (
                any_value.double_value
                if math.isfinite(any_value.double_value)
                else str(any_value.double_value)
            )
        case "bool_value":
            return any_value.bool_value
        case "bytes_value":
            return base64.b64encode(any_value.bytes_value).decode()
        case "kvlist_value":
            parts.add(len(any_value.kvlist_value.values))
            return attributes(any_value.kvlist_value.values, parts, depth + 1)
        case "array_value":
            parts.add(len(any_value.array_value.values))
            return [value(item, parts, depth + 1) for item in any_value.array_value.values]
    return None


def attributes_of_json(any_value: Any, name: str, parts: Count, depth: int = 0) -> dict[str, Any]:
    pairs = [
        pair
        for pair in members(any_value, name, parts)
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    ]
    return {pair["key"]: value_of_json(pair.get("value"), parts, depth) for pair in pairs}


def value_of_json(any_value: Any, parts: Count, depth: int = 0) -> Any:
    if not isinstance(any_value, dict) or depth > MAX_DEPTH:
        return None
    if "kvlistValue" in any_value:
        return attributes_of_json(any_value["kvlistValue"], "values", parts, depth + 1)
    if "arrayValue" in any_value:
        return [
            value_of_json(item, parts, depth + 1)
            for item in members(any_value["arrayValue"], "values", parts)
        ]
    value = next(
        (any_value[kind] for kind in _KINDS if isinstance(any_value.get(kind), str | int | bytes)),
        None,
    )
    if not isinstance(value, bytes):
        return value
    _count_double(parts, depth)
    return float(value) if len(value) <= MAX_NUMBER_CHARS else value.decode()


def _count_double(parts: Count, depth: int) -> None:
    """Nested doubles count as parts: writing each as JSON takes 3 µs."""
    parts.add(depth > 0)


def members(any_value: Any, name: str, parts: Count) -> list[Any]:
    values = any_value.get(name) if isinstance(any_value, dict) else None
    if not isinstance(values, list):
        return []
    parts.add(len(values))
    return values
