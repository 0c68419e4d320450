from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.discovery.operator_report import MAX_EVENTS, OperatorEvent
from ingest.event_records import MAX_AHEAD_MS, log_record, read_of
from ingest.flink_ids import is_flink_id
from ingest.json_members import as_list
from ingest.records import LogRecord
from ingest.source_read import SourceRead

SOURCE = "operator"
PROCESS, LOGGER = "kubernetes-operator", "org.apache.flink.kubernetes.operator"
MAX_DIGESTS = 4 * MAX_EVENTS


def read_events(run: ClusterRun) -> SourceRead:
    at = run.shard.at()
    records, cursor = new_records(run.cluster.operator_events, run.cursor_of(SOURCE), at)
    return read_of(run, SOURCE, at, records, cursor)


def new_records(
    events: Sequence[OperatorEvent], cursor: Mapping[str, Any], at: datetime
) -> tuple[tuple[LogRecord, ...], dict[str, Any]]:
    """Records of new events, and the next cursor. Events without a job are left out."""
    digests = [text for text in as_list(cursor.get("taken")) if isinstance(text, str)]
    latest_ms = at.timestamp() * 1000 + MAX_AHEAD_MS
    records = []
    for event in events:
        if not is_flink_id(event.job_id) or event.at_ms > latest_ms:
            continue
        level = "WARN" if event.is_warning else "INFO"
        record = log_record(PROCESS, event.at_ms, level, LOGGER, _message(event))
        if record.record_hash not in digests:
            digests.append(record.record_hash)
            records.append(record)
    return tuple(records), {"taken": digests[-MAX_DIGESTS:]}


def _message(event: OperatorEvent) -> str:
    location = (
        f", at {event.path}"
        if event.path and not any(character.isspace() for character in event.path)
        else ""
    )
    text = " ".join(event.message.split())
    return f"Kubernetes operator: {event.reason or 'Event'} of job {event.job_id}{location}: {text}"
