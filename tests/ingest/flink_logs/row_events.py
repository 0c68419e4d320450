"""A record → its event, by itself: what the product does in columns
(``spark_jobs.transforms.event_batches``).
"""

from datetime import UTC, datetime, timedelta
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
from ingest.records import LogRecord

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        known = 0 < ms < LAST_EPOCH_MS
        fields["trigger_time"] = EPOCH + timedelta(milliseconds=ms) if known else None
    if "path" in fields:
        fields["path"] = path_of(fields["path"])
    if "checkpoint_type" in fields:
        fields["is_savepoint"] = is_savepoint(fields["checkpoint_type"])
    if attempt := attempt_of(fields.get("execution_id", "")):
        fields["vertex_id"], fields["subtask"], fields["attempt"] = attempt
    return fields
