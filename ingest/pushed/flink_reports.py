"""Flink's spans and events as log records (``ingest.flink_logs.reports``), each with the job and the
instant.

Source: ``OpenTelemetryTraceReporter`` and ``OpenTelemetryEventReporter`` name the class as scope, and
add the variables of the job's metrics.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ingest.flink_logs.reports import DURATION_MS, NAMES, TRIGGERED_MS, event_of, message_of
from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS
from ingest.pushed.entries import Entry, Processes, entry_of
from ingest.records import Skip

_PACKAGE = "org.apache.flink.runtime."
_FAILED = "FAILED"


class Report(NamedTuple):
    """``at_ms``: epoch ms."""

    scope: str
    name: str
    at_ms: int | None
    attributes: Mapping[str, Any]


def is_read(scope: str, name: str) -> bool:
    return scope.startswith(_PACKAGE) and name in NAMES


def span(scope: str, name: str, edges: tuple[str, str], attributes: Mapping[str, Any]) -> Report:
    """``edges``: begin and end, epoch ns. The end of a failed checkpoint is its last
    acknowledgement, which may be missing.
    """
    begun_ms, ended_ms = map(_instant_ms, edges)
    times = {TRIGGERED_MS: begun_ms, DURATION_MS: None}
    if begun_ms and ended_ms and attributes.get("checkpointStatus") != _FAILED:
        times[DURATION_MS] = ended_ms - begun_ms
    return Report(scope, name, max(begun_ms or 0, ended_ms or 0), {**attributes, **times})


def event(
    scope: str, name: str, observed_at: str, sent_at: str, attributes: Mapping[str, Any]
) -> Report:
    """``observed_at``, ``sent_at``: epoch ns. The event of a failed checkpoint is observed at the
    last acknowledgement, and sent when it failed.
    """
    has_failed = attributes.get("checkpointStatus") == _FAILED
    preferred, other = (sent_at, observed_at) if has_failed else (observed_at, sent_at)
    return Report(scope, name, _instant_ms(preferred) or _instant_ms(other), attributes)


def instant_text(at: datetime) -> str:
    """As Flink's appenders write it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def entry_of_report(
    report: Report, origin: Mapping[str, str], processes: Processes
) -> Entry | Skip:
    text = message_of(report.name, report.attributes)
    if not report.at_ms or event_of(text) is None:
        subject = f"{report.name} of {report.attributes.get('job_id') or 'no job'}"
        return Skip(
            ascii(subject[:80]), "bad_payload", "Its job, its instant or another value is unknown."
        )
    record = {
        "@timestamp": instant_text(datetime.fromtimestamp(report.at_ms / 1000, UTC)),
        "log.level": "INFO",
        "log.logger": report.scope,
        "message": text,
    }
    about = {"host": report.attributes.get("host"), **origin}
    return entry_of(record, about, process_at=processes) or Skip(
        report.name, "bad_payload", "It cannot be written as JSON."
    )


def _instant_ms(nanoseconds: str) -> int | None:
    """Flink reports -1 ms for no instant, which OTLP makes a large number."""
    try:
        at_ms = int(nanoseconds) // 1_000_000
    except ValueError:
        return None
    return at_ms if 0 < at_ms < LAST_INSTANT_MS else None
