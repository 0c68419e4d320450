"""Flink's spans and events as log records (``ingest.flink_logs.reports``), each with the job and the
instant.

Source: ``OpenTelemetryTraceReporter`` and ``OpenTelemetryEventReporter`` name the class as scope, and
add the variables of the job's metrics.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ingest.flink_logs.reports import DURATION_MS, NAMES, TRIGGERED_MS, event_of, message_of
from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS
from ingest.pushed.entries import Entry, Processes, entry_of
from ingest.pushed.otlp_items import Item
from ingest.records import Skip

_PACKAGE = "org.apache.flink.runtime."


def is_read(item: Item, name: str) -> bool:
    return item.scope.startswith(_PACKAGE) and name in NAMES


def span_entry(
    item: Item, name: str, edges: tuple[str, str], attributes: Mapping[str, Any], at: Processes
) -> Entry | Skip:
    """``edges``: begin and end, epoch ns. The end of a failed checkpoint is its last
    acknowledgement, which may be missing.
    """
    begun_ms, ended_ms = map(_instant_ms, edges)
    times = {TRIGGERED_MS: begun_ms, DURATION_MS: None}
    if begun_ms and ended_ms and not _has_failed(attributes):
        times[DURATION_MS] = ended_ms - begun_ms
    return _entry(item, name, max(begun_ms or 0, ended_ms or 0), {**attributes, **times}, at)


def event_entry(
    item: Item, name: str, times: tuple[str, str], attributes: Mapping[str, Any], at: Processes
) -> Entry | Skip:
    """``times``: observed and sent, epoch ns. The event of a failed checkpoint is observed at the
    last acknowledgement, and sent when it failed.
    """
    observed_ms, sent_ms = map(_instant_ms, times)
    at_ms = (_has_failed(attributes) and sent_ms) or observed_ms or sent_ms
    return _entry(item, name, at_ms, attributes, at)


def instant_text(at: datetime) -> str:
    """As Flink's appenders write it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _entry(
    item: Item, name: str, at_ms: int | None, attributes: Mapping[str, Any], process_at: Processes
) -> Entry | Skip:
    text = message_of(name, attributes)
    event, entry = event_of(text), None
    if at_ms and event:
        record = {
            "@timestamp": instant_text(datetime.fromtimestamp(at_ms / 1000, UTC)),
            # For lines of INFO, no cycle runs at once.
            "log.level": "WARN" if event.is_failure else "INFO",
            "log.logger": item.scope,
            "message": text,
        }
        about = {"host": attributes.get("host"), **item.origin}
        entry = entry_of(record, about, process_at=process_at)
    if event and entry:
        return replace(entry, is_failure=event.is_failure)
    subject = f"{name} of {attributes.get('job_id') or 'no job'}"
    return Skip(
        ascii(subject[:80]), "bad_payload", "Its job, its instant or another value is unknown."
    )


def _has_failed(attributes: Mapping[str, Any]) -> bool:
    return attributes.get("checkpointStatus") == "FAILED"


def _instant_ms(nanoseconds: str) -> int | None:
    """Flink reports -1 ms for no instant, which OTLP makes a large number."""
    try:
        at_ms = int(nanoseconds) // 1_000_000
    except ValueError:
        return None
    return at_ms if 0 < at_ms < LAST_INSTANT_MS else None
