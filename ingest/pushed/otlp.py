"""Logs by OTLP over HTTP, in protobuf or JSON, as OpenTelemetry's SDKs and Collector, Grafana Alloy, Fluent Bit and Vector send them.

Source: ``opentelemetry/proto/collector/logs/v1/logs_service.proto`` and the JSON mapping of the OTLP specification.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from ingest.errors import Refused
from ingest.json_bounds import TooManyValues, decoded
from ingest.pushed.bodies import TooLarge
from ingest.pushed.entries import Entry, entry_of
from ingest.pushed.protobuf_texts import message_of
from ingest.records import Skip

MAX_DEPTH = 16
"""Of a body that is no text."""

_KINDS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_protobuf(body: bytes) -> Iterator[Entry | Skip]:
    """Raises :class:`Refused` where the body is no such message."""
    try:
        document = MessageToDict(message_of(body, ExportLogsServiceRequest))
    except (DecodeError, ValueError, RecursionError) as error:
        raise Refused("The body is no ExportLogsServiceRequest in protobuf.") from error
    return _entries(document)


def from_json(body: bytes) -> Iterator[Entry | Skip]:
    """Raises :class:`Refused` where the body is no such message."""
    try:
        document, _ = decoded(body, lenient=True, cut_deep=True)
    except TooManyValues as error:
        raise TooLarge(f"The body is too large: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise Refused("The body is no JSON.") from error
    return _entries(document)


def accepted(rejected: int, reason: str) -> ExportLogsServiceResponse:
    """The answer that the protocol asks for; ``partialSuccess`` only where something was skipped."""
    answer = ExportLogsServiceResponse()
    if rejected:
        answer.partial_success.rejected_log_records = rejected
        answer.partial_success.error_message = reason
    return answer


def _entries(document: Any) -> Iterator[Entry | Skip]:
    for resource_logs in _list(document, "resourceLogs"):
        resource = _attributes(_object(resource_logs, "resource"))
        for scope_logs in _list(resource_logs, "scopeLogs"):
            scope = _object(scope_logs, "scope").get("name")
            for record in _list(scope_logs, "logRecords"):
                yield _entry(record, resource, scope if isinstance(scope, str) else "")


def _entry(record: Any, resource: Mapping[str, Any], scope: str) -> Entry | Skip:
    if not isinstance(record, dict):
        return Skip(ascii(str(record)[:80]), "not_json", "A log record is a JSON object.")
    attributes, body = _attributes(record), _value(record.get("body"))
    at = str(record.get("timeUnixNano") or "")
    about = {**resource, **attributes}
    fields = body if isinstance(body, dict) else _of_appender(record, attributes, body, scope) or {"body": body}
    found = entry_of({**fields, "stamp": at or str(record.get("observedTimeUnixNano") or "")}, about)
    return found or Skip(f"record of {at[:40] or 'no time'}", "no_text", "Its body has no text.")


def _of_appender(record: Mapping[str, Any], attributes: Mapping[str, Any], body: Any, scope: str) -> dict[str, Any] | None:
    """In Elastic's common schema, a JSON layout, what a logging library sent without a file between; ``None`` for lines of files."""
    logger, level = attributes.get("log.logger") or attributes.get("code.namespace") or scope, record.get("severityText")
    of_file = "log.file.name" in attributes or "log.file.path" in attributes
    instant = _instant(record.get("timeUnixNano"))
    if of_file or not (isinstance(body, str) and isinstance(level, str) and level and logger and instant):
        return None
    fields = {"@timestamp": instant, "log.level": level, "log.logger": logger, "message": body}
    trace = attributes.get("exception.stacktrace")
    return {**fields, "error.stack_trace": trace} if trace else fields


def _instant(nanoseconds: Any) -> str | None:
    try:
        return (_EPOCH + timedelta(microseconds=int(nanoseconds) // 1000)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (TypeError, ValueError, OverflowError):
        return None


def _attributes(of: Any) -> dict[str, Any]:
    pairs = [pair for pair in _list(of, "attributes") if isinstance(pair, dict)]
    return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs}


def _value(value: Any, depth: int = 0) -> Any:
    """What an ``AnyValue`` holds."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    if "kvlistValue" in value:
        pairs = [pair for pair in _list(value["kvlistValue"], "values") if isinstance(pair, dict)]
        return {str(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
    if "arrayValue" in value:
        return [_value(one, depth + 1) for one in _list(value["arrayValue"], "values")]
    return next((value[kind] for kind in _KINDS if kind in value), None)


def _object(of: Any, name: str) -> dict[str, Any]:
    found = of.get(name) if isinstance(of, dict) else None
    return found if isinstance(found, dict) else {}


def _list(of: Any, name: str) -> list[Any]:
    found = of.get(name) if isinstance(of, dict) else None
    return found if isinstance(found, list) else []
