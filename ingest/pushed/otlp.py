"""Logs by OTLP over HTTP, in protobuf or JSON.

Source: ``opentelemetry/proto/collector/logs/v1/logs_service.proto`` and the JSON mapping of the
OTLP specification.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from ingest.errors import Refused
from ingest.pushed import bounds
from ingest.pushed.bounds import Count
from ingest.pushed.entries import Entry, Processes, entry_of, excerpt
from ingest.pushed.flink_reports import event_entry, instant_text, is_read
from ingest.pushed.otlp_items import Item, items_in_json, items_in_protobuf, nanoseconds_of_json
from ingest.pushed.otlp_values import attributes, attributes_of_json, value, value_of_json
from ingest.pushed.protobuf_fields import message_of
from ingest.records import Skip

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Record(NamedTuple):
    at: str
    observed_at: str
    level: Any
    body: Any
    attributes: Mapping[str, Any]


def from_protobuf(body: bytes) -> Iterator[Entry | Skip]:
    """Raises ``Refused``."""
    processes, parts = Processes(), bounds.parts()
    try:
        for item in items_in_protobuf(body, parts):
            record = _record(message_of(item.content, LogRecord, parts), parts)
            yield _entry(record, item, processes)
    except (DecodeError, ValueError) as error:
        raise Refused("The body is no ExportLogsServiceRequest in protobuf.") from error


def from_json(body: bytes) -> Iterator[Entry | Skip]:
    processes, parts = Processes(), bounds.parts()
    for item in items_in_json(body, "Logs", "logRecords", parts):
        if isinstance(item.content, dict):
            yield _entry(_record_of_json(item.content, parts), item, processes)
        else:
            yield Skip(excerpt(item.content), "not_json", "A log record is a JSON object.")


def accepted(rejected: int, reason: str) -> ExportLogsServiceResponse:
    answer = ExportLogsServiceResponse()
    if rejected:
        answer.partial_success.rejected_log_records = rejected
        answer.partial_success.error_message = reason
    return answer


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


def _record_of_json(record: dict[str, Any], parts: Count) -> _Record:
    at = nanoseconds_of_json(record.get("timeUnixNano"))
    observed_at = nanoseconds_of_json(record.get("observedTimeUnixNano"))
    body = value_of_json(record.get("body"), parts)
    record_attributes = attributes_of_json(record, "attributes", parts)
    return _Record(at, observed_at, record.get("severityText"), body, record_attributes)


def _entry(record: _Record, item: Item, processes: Processes) -> Entry | Skip:
    if is_read(item, name := str(record.attributes.get("name"))):
        times = (record.observed_at, record.at)
        return event_entry(item, name, times, record.attributes, processes)
    fields = (
        record.body
        if isinstance(record.body, dict)
        else _appender_record(record, item.scope) or {"body": record.body}
    )
    stamped_fields = {**fields, "stamp": record.at or record.observed_at}
    shared_fields = {**item.origin, **record.attributes}
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
        return instant_text(_EPOCH + timedelta(microseconds=int(nanoseconds) // 1000))
    except (ValueError, OverflowError):
        return None
