"""Walks the three levels of an OTLP body: resources, scopes (instrumentation), and their items (log
records or spans). Items are counted before they are decoded.

Source: ``opentelemetry/proto/logs/v1/logs.proto`` and ``trace/v1/trace.proto``, which number these
fields alike, and the JSON mapping of the OTLP specification.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from ingest.json_bounds import MAX_NUMBER_CHARS
from ingest.json_members import as_object, member
from ingest.pushed import bounds
from ingest.pushed.bounds import Count
from ingest.pushed.entries import origin_of
from ingest.pushed.otlp_values import attributes, attributes_of_json, members
from ingest.pushed.protobuf_fields import fields, message_of, tag_of

MAX_SCOPE_CHARS = 300
"""Longest name of a scope: a logger, which is stored with each record."""
_TAGS = (tag_of(1), tag_of(2))


class Item(NamedTuple):
    """``origin``: names of the pod, file, container or host in the resource. ``content``: bytes of
    protobuf, or a value of JSON.
    """

    origin: Mapping[str, str]
    scope: str
    content: Any


def items_in_protobuf(body: bytes, parts: Count) -> Iterator[Item]:
    """Raises ``DecodeError``, ``ValueError`` and ``TooLarge``."""
    records = bounds.records(bounds.MAX_OTLP_RECORDS)
    for of_resource in _first_two_fields(body, parts)[0]:
        resource_parts, scopes = _first_two_fields(of_resource, parts)
        records.add(1 + len(scopes))
        resource = message_of(b"".join(resource_parts), Resource, parts)
        parts.add(len(resource.attributes))
        origin = origin_of(attributes(resource.attributes, parts))
        for of_scope in scopes:
            scope_parts, contents = _first_two_fields(of_scope, parts)
            scope = message_of(b"".join(scope_parts), InstrumentationScope, parts)
            records.add(len(contents))
            for content in contents:
                yield Item(origin, scope.name[:MAX_SCOPE_CHARS], content)


def items_in_json(body: bytes, kind: str, items: str, parts: Count) -> Iterator[Item]:
    """``kind``: ``Logs`` or ``Spans``. ``items``: the member with the items of a scope. Raises
    ``Refused``.
    """
    records = bounds.records(bounds.MAX_OTLP_RECORDS)
    for of_resource in members(bounds.json_document(body), f"resource{kind}", parts):
        resource = as_object(member(of_resource, "resource"))
        origin = origin_of(attributes_of_json(resource, "attributes", parts))
        scopes = members(of_resource, f"scope{kind}", parts)
        records.add(1 + len(scopes))
        for of_scope in scopes:
            name = as_object(member(of_scope, "scope")).get("name")
            scope = name[:MAX_SCOPE_CHARS] if isinstance(name, str) else ""
            contents = members(of_scope, items, parts)
            records.add(len(contents))
            for content in contents:
                yield Item(origin, scope, content)


def nanoseconds_of_json(value: Any) -> str:
    if isinstance(value, bytes):
        text = value.decode()
    else:
        text = str(value or "") if isinstance(value, str | int) else ""
    is_shown = text.isascii() and text.isprintable()
    return text if is_shown and len(text) <= MAX_NUMBER_CHARS else ""


def _first_two_fields(body: bytes, parts: Count) -> tuple[list[bytes], list[bytes]]:
    messages: tuple[list[bytes], list[bytes]] = ([], [])
    for tag, content in fields(body, parts):
        if tag in _TAGS:
            messages[_TAGS.index(tag)].append(content)
    return messages
