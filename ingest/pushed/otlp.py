"""Logs by OTLP over HTTP, in protobuf or JSON.

Source: ``opentelemetry/proto/collector/logs/v1/logs_service.proto`` and the JSON mapping of the
OTLP specification.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from ingest.errors import Refused
from ingest.json_bounds import MAX_NUMBER_CHARS
from ingest.json_members import as_object, member
from ingest.pushed import bounds
from ingest.pushed.bounds import Count
from ingest.pushed.entries import Entry, Processes, entry_of, excerpt, origin_of
from ingest.pushed.otlp_values import attributes, attributes_of_json, members, value, value_of_json
from ingest.pushed.protobuf_fields import fields, message_of, tag_of
from ingest.records import Skip

MAX_SCOPE_CHARS = 300
"""Longest name of a scope: a logger, which is stored with each record."""
_TAGS = (tag_of(1), tag_of(2))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Record(NamedTuple):
    at: str
    observed_at: str
    level: Any
    body: Any
    attributes: Mapping[str, Any]


def from_protobuf(body: bytes) -> Iterator[Entry | Skip]:
    """Raises ``Refused``."""
    try:
        yield from _protobuf_entries(body, bounds.records(bounds.MAX_OTLP_RECORDS), bounds.parts())
    except (DecodeError, ValueError) as error:
        raise Refused("The body is no ExportLogsServiceRequest in protobuf.") from error


def from_json(body: bytes) -> Iterator[Entry | Skip]:
    document = bounds.json_document(body)
    yield from _json_entries(document, bounds.records(bounds.MAX_OTLP_RECORDS), bounds.parts())


def accepted(rejected: int, reason: str) -> ExportLogsServiceResponse:
    answer = ExportLogsServiceResponse()
    if rejected:
        answer.partial_success.rejected_log_records = rejected
        answer.partial_success.error_message = reason
    return answer


def _protobuf_entries(body: bytes, records: Count, parts: Count) -> Iterator[Entry | Skip]:
    processes = Processes()
    for resource_logs in _first_two_fields(body, parts)[0]:
        resource_parts, scopes = _first_two_fields(resource_logs, parts)
        records.add(1 + len(scopes))
        resource_message = message_of(b"".join(resource_parts), Resource, parts)
        parts.add(len(resource_message.attributes))
        resource = origin_of(attributes(resource_message.attributes, parts))
        for scope_logs in scopes:
            scope_parts, messages = _first_two_fields(scope_logs, parts)
            scope = message_of(b"".join(scope_parts), InstrumentationScope, parts).name[
                :MAX_SCOPE_CHARS
            ]
            records.add(len(messages))
            for content in messages:
                yield _entry(
                    _record(message_of(content, LogRecord, parts), parts),
                    resource,
                    scope,
                    processes,
                )


def _first_two_fields(body: bytes, parts: Count) -> tuple[list[bytes], list[bytes]]:
    messages: tuple[list[bytes], list[bytes]] = ([], [])
    for tag, content in fields(body, parts):
        if tag in _TAGS:
            messages[_TAGS.index(tag)].append(content)
    return messages


def _record(record: LogRecord, parts: Count) -> _Record:
    parts.add(len(record.attributes))
    at, observed_at = str(record.time_unix_nano or ""), str(record.observed_time_unix_nano or "")
    return _Record(
        at,
        observed_at,
        record.severity_text,
        value(record.body, parts),
        attributes(record.attributes, parts),
    )


def _json_entries(document: Any, records: Count, parts: Count) -> Iterator[Entry | Skip]:
    processes = Processes()
    for resource_logs in members(document, "resourceLogs", parts):
        resource = origin_of(
            attributes_of_json(_object(resource_logs, "resource"), "attributes", parts)
        )
        scopes = members(resource_logs, "scopeLogs", parts)
        records.add(1 + len(scopes))
        for scope_logs in scopes:
            name = _object(scope_logs, "scope").get("name")
            scope = name[:MAX_SCOPE_CHARS] if isinstance(name, str) else ""
            log_records = members(scope_logs, "logRecords", parts)
            records.add(len(log_records))
            for record in log_records:
                if isinstance(record, dict):
                    yield _entry(_record_of_json(record, parts), resource, scope, processes)
                else:
                    yield Skip(excerpt(record), "not_json", "A log record is a JSON object.")


def _record_of_json(record: dict[str, Any], parts: Count) -> _Record:
    at = _nanoseconds(record.get("timeUnixNano"))
    observed_at = _nanoseconds(record.get("observedTimeUnixNano"))
    body = value_of_json(record.get("body"), parts)
    record_attributes = attributes_of_json(record, "attributes", parts)
    return _Record(at, observed_at, record.get("severityText"), body, record_attributes)


def _nanoseconds(value: Any) -> str:
    if isinstance(value, bytes):
        text = value.decode()
    else:
        text = str(value or "") if isinstance(value, str | int) else ""
    return text if len(text) <= MAX_NUMBER_CHARS else ""


def _entry(
    record: _Record, resource: Mapping[str, Any], scope: str, processes: Processes
) -> Entry | Skip:
    fields = (
        record.body
        if isinstance(record.body, dict)
        else _appender_record(record, scope) or {"body": record.body}
    )
    stamped_fields = {**fields, "stamp": record.at or record.observed_at}
    shared_fields = {**resource, **record.attributes}
    entry = entry_of(stamped_fields, shared_fields, process_at=processes)
    return entry or Skip(
        f"record of {record.at[:40] or 'no time'}", "no_text", "Its body has no text."
    )


def _appender_record(record: _Record, scope: str) -> dict[str, Any] | None:
    """The record in Elastic's common schema if a logging library sent it; ``None`` for a line of a
    file.
    """
    names, level, body = record.attributes, record.level, record.body
    logger = names.get("log.logger") or names.get("code.namespace") or scope
    is_from_file = "log.file.name" in names or "log.file.path" in names
    instant = None if is_from_file else _instant(record.at)
    if not (isinstance(body, str) and isinstance(level, str) and level and logger and instant):
        return None
    fields = {"@timestamp": instant, "log.level": level, "log.logger": logger, "message": body}
    trace = names.get("exception.stacktrace")
    return {**fields, "error.stack_trace": trace} if trace else fields


def _instant(nanoseconds: str) -> str | None:
    try:
        return (
            (_EPOCH + timedelta(microseconds=int(nanoseconds) // 1000))
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z")
        )
    except (ValueError, OverflowError):
        return None


def _object(parent: Any, name: str) -> dict[str, Any]:
    return as_object(member(parent, name))
