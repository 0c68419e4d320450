"""Flink's spans by OTLP over HTTP, in protobuf or JSON. Those of others are counted and left out.

Source: ``opentelemetry/proto/trace/v1/trace.proto`` and the JSON mapping of the OTLP specification.
"""

from collections.abc import Iterator

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from ingest.errors import Refused
from ingest.json_members import member
from ingest.pushed import bounds
from ingest.pushed.bounds import Count
from ingest.pushed.entries import Entry, Processes
from ingest.pushed.flink_reports import is_read, span_entry
from ingest.pushed.otlp_items import Item, items_in_json, items_in_protobuf, nanoseconds_of_json
from ingest.pushed.otlp_values import attributes, attributes_of_json
from ingest.pushed.protobuf_fields import fields, message_of, tag_of
from ingest.records import Skip

_FIXED64 = 1
_NAME, _ATTRIBUTE = tag_of(5), tag_of(9)
_BEGIN, _END = 7 << 3 | _FIXED64, 8 << 3 | _FIXED64


def from_protobuf(body: bytes) -> Iterator[Entry | Skip]:
    """Raises ``Refused``."""
    processes, parts = Processes(), bounds.parts()
    try:
        for item in items_in_protobuf(body, parts):
            if entry := _entry(item, parts, processes):
                yield entry
    except (DecodeError, ValueError) as error:
        raise Refused("The body is no ExportTraceServiceRequest in protobuf.") from error


def from_json(body: bytes) -> Iterator[Entry | Skip]:
    processes, parts = Processes(), bounds.parts()
    for item in items_in_json(body, "Spans", "spans", parts):
        if entry := _entry_of_json(item, parts, processes):
            yield entry


def accepted(rejected: int, reason: str) -> ExportTraceServiceResponse:
    answer = ExportTraceServiceResponse()
    if rejected:
        answer.partial_success.rejected_spans = rejected
        answer.partial_success.error_message = reason
    return answer


def _entry(item: Item, parts: Count, processes: Processes) -> Entry | Skip | None:
    """Only what is read is decoded: a span may have any number of events and links."""
    by_tag: dict[int, bytes] = {}
    pairs: list[bytes] = []
    for tag, content in fields(item.content, parts):
        if tag == _ATTRIBUTE:
            pairs.append(content)
        else:
            by_tag[tag] = content
    name = by_tag.get(_NAME, b"").decode("utf-8", "replace")
    if not is_read(item, name):
        return None
    begun, ended = (str(int.from_bytes(by_tag.get(tag, b""), "little")) for tag in (_BEGIN, _END))
    messages = [message_of(content, KeyValue, parts) for content in pairs]
    return span_entry(item, name, (begun, ended), attributes(messages, parts), processes)


def _entry_of_json(item: Item, parts: Count, processes: Processes) -> Entry | Skip | None:
    name = member(item.content, "name")
    if not isinstance(name, str) or not is_read(item, name):
        return None
    begun, ended = (
        nanoseconds_of_json(item.content.get(f"{edge}TimeUnixNano")) for edge in ("start", "end")
    )
    pairs = attributes_of_json(item.content, "attributes", parts)
    return span_entry(item, name, (begun, ended), pairs, processes)
