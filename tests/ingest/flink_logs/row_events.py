"""A record → its event, by itself: what the product does in columns
(``spark_jobs.transforms.event_batches``).
"""

from typing import Any

from ingest.flink_logs.event_parser import (
    INT_FIELDS,
    LAST_EPOCH_MS,
    attempt_of,
    is_savepoint,
    parse_message,
    path_of,
)
from ingest.flink_logs.events import LogEvent
from ingest.flink_rest.payloads.fields import instant_of_ms
from ingest.records import LogRecord


def event_of(record: LogRecord) -> LogEvent | None:
    parsed = parse_message(record.level, record.message)
    if parsed is None:
        return None
    kind, names, values, reason, reason_text, message, detail = parsed
    return LogEvent(
        kind=kind,
        process=record.process,
        ts=record.ts,
        level=record.level,
        record_hash=record.record_hash,
        ordinal=record.ordinal,
        file=record.file,
        offset=record.offset,
        message=message,
        detail=detail,
        **{
            **_convert(dict(zip(names, values, strict=True))),
            "reason": reason,
            "reason_text": reason_text,
        },
    )


def _convert(texts: dict[str, str | None]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        name: int(text) if name in INT_FIELDS else text for name, text in texts.items() if text
    }
    number = fields.pop("subtask_number", None)
    if number:
        fields["subtask"] = number - 1
    if "trigger_time" in fields:
        ms = int(fields["trigger_time"])
        fields["trigger_time"] = instant_of_ms(ms) if 0 < ms < LAST_EPOCH_MS else None
    if "path" in fields:
        fields["path"] = path_of(fields["path"])
    if "checkpoint_type" in fields:
        fields["is_savepoint"] = is_savepoint(fields["checkpoint_type"])
    if attempt := attempt_of(fields.get("execution_id", "")):
        fields["vertex_id"], fields["subtask"], fields["attempt"] = attempt
    return fields
