"""Flink's spans and events as log records, under the names in Flink's source."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.flink_logs.events import LogEvent
from ingest.pushed import otlp, otlp_traces
from ingest.pushed.entries import Entry
from ingest.records import Skip
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of

JOB = "a" * 32
TRACKER = "org.apache.flink.runtime.checkpoint.CheckpointStatsTracker"
MASTER = "org.apache.flink.runtime.jobmaster.JobMaster"
FAILURES = "org.apache.flink.runtime.scheduler.adaptive.JobFailureMetricReporter"
BEGUN_MS = 1_795_234_350_123
OF_JOB = {"job_id": JOB, "job_name": "orders (eu)", "host": "jm-1"}
NO_INSTANT = str(2**64 - 1_000_000)
"""-1 ms as the unsigned number of OTLP."""


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for key, value in values.items()
    ]


def span(name: str, took_ms: int | None, /, **values: Any) -> dict[str, Any]:
    end = NO_INSTANT if took_ms is None else f"{BEGUN_MS + took_ms}000000"
    return {
        "name": name,
        "startTimeUnixNano": f"{BEGUN_MS}000000",
        "endTimeUnixNano": end,
        "attributes": attributes(OF_JOB | values),
    }


def spans(*sent: dict[str, Any], scope: str = TRACKER) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": scope}, "spans": sent}]}]}


def event(name: str, scope: str, /, **values: Any) -> dict[str, Any]:
    record = {
        "timeUnixNano": f"{BEGUN_MS + 5}000000",
        "observedTimeUnixNano": f"{BEGUN_MS}000000",
        "severityText": "INFO",
        "attributes": attributes({"name": name} | OF_JOB | values),
    }
    return {"resourceLogs": [{"scopeLogs": [{"scope": {"name": scope}, "logRecords": [record]}]}]}


def found(body: dict[str, Any]) -> list[Entry | Skip]:
    """The same of both forms."""
    kind, reader = (
        (ExportTraceServiceRequest, otlp_traces)
        if "resourceSpans" in body
        else (ExportLogsServiceRequest, otlp)
    )
    by_json = list(reader.from_json(json.dumps(body).encode()))
    by_protobuf = list(reader.from_protobuf(ParseDict(body, kind()).SerializeToString()))
    assert by_json == by_protobuf
    return by_json


def read(body: dict[str, Any]) -> LogEvent:
    (entry,) = found(body)
    assert isinstance(entry, Entry) and entry.process == "jm-1"
    (record,) = records_of(f"{entry.text}\n".encode(), file="jm-1.log")
    log_event = event_of(record)
    assert log_event is not None
    return log_event


def instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def test_a_span_of_a_checkpoint_has_its_trigger_duration_and_sizes() -> None:
    sizes = {"fullSize": 4096, "checkpointedSize": 77}
    one = read(
        spans(span("Checkpoint", 950, checkpointId=7, checkpointStatus="COMPLETED", **sizes))
    )
    assert (one.kind, one.job_id, one.job_name) == ("checkpoint_reported", JOB, "orders (eu)")
    assert (one.checkpoint_id, one.to_state, one.duration_ms) == (7, "COMPLETED", 950)
    assert (one.state_bytes, one.checkpointed_bytes) == (4096, 77)
    assert (one.trigger_time, one.ts) == (instant(BEGUN_MS), instant(BEGUN_MS + 950))


@pytest.mark.parametrize("took_ms", [None, 300])
def test_a_failed_checkpoint_has_no_duration_as_its_span_ends_with_the_last_acknowledgement(
    took_ms: int | None,
) -> None:
    one = read(spans(span("Checkpoint", took_ms, checkpointId=7, checkpointStatus="FAILED")))
    assert (one.to_state, one.duration_ms) == ("FAILED", None)
    assert one.ts == instant(BEGUN_MS + (took_ms or 0))


def test_an_event_of_a_checkpoint_has_its_type_and_no_trigger() -> None:
    one = read(
        event(
            "CheckpointEvent",
            TRACKER,
            checkpointId=7,
            checkpointStatus="COMPLETED",
            checkpointType="Terminate Savepoint",
        )
    )
    assert (one.kind, one.ts, one.trigger_time) == ("checkpoint_reported", instant(BEGUN_MS), None)
    assert (one.checkpoint_type, one.is_savepoint) == ("Terminate Savepoint", True)


def test_an_event_of_a_failed_checkpoint_is_dated_when_it_was_sent() -> None:
    failed = event("CheckpointEvent", TRACKER, checkpointId=7, checkpointStatus="FAILED")
    assert read(failed).ts == instant(BEGUN_MS + 5)


def test_an_initialization_names_its_parts() -> None:
    parts = {"maxDownloadStateDurationMs": 800, "sumDownloadStateDurationMs": 1500}
    one = read(spans(span("JobInitialization", 900, initializationStatus="COMPLETED", **parts)))
    assert (one.kind, one.duration_ms) == ("initialization_reported", 900)
    assert one.detail is not None
    assert json.loads(one.detail) == {"DownloadState": {"longest": 800, "sum": 1500}}


def test_states_and_failures_of_a_job_are_events_of_it() -> None:
    state = read(event("JobStatusChangeEvent", MASTER, newJobStatus="RESTARTING"))
    assert (state.kind, state.from_state, state.to_state) == ("job_state", None, "RESTARTING")
    labels = {"canRestart": "true", "failureLabel.type": "USER\nX"}
    failure = read(event("JobFailureEvent", FAILURES, **labels))
    assert (failure.kind, failure.reason_text) == (
        "failure_reported",
        "canRestart=true, type=USER X",
    )
    assert read(spans(span("JobFailure", 0, **labels), scope=FAILURES)).kind == "failure_reported"


def test_spans_and_events_that_are_not_flinks_are_as_before() -> None:
    assert found(spans(span("Checkpoint", 1), scope="com.shop.Checkpoints")) == []
    assert found(spans(span("Checkpoint_Task", 1))) == []
    (skipped,) = found(event("CartEvent", "com.shop.Cart"))
    assert isinstance(skipped, Skip)


@pytest.mark.parametrize(
    "values",
    [
        {"job_id": "../x"},
        {"checkpointId": -1},
        {"checkpointStatus": "DONE @ 7"},
        {"checkpointStatus": 7},
    ],
)
def test_a_span_without_what_is_necessary_is_skipped_and_said(values: dict[str, Any]) -> None:
    whole = {"checkpointId": 7, "checkpointStatus": "COMPLETED"}
    (skipped,) = found(spans(span("Checkpoint", 1, **whole | values)))
    assert isinstance(skipped, Skip)


def test_a_name_of_a_job_makes_no_other_event() -> None:
    name = f'x","job_id":"{"b" * 32}","fullSize":"9"}}\nFlink reported JobStatusChangeEvent {{'
    one = read(
        spans(span("Checkpoint", 1, checkpointId=7, checkpointStatus="COMPLETED", job_name=name))
    )
    assert (one.kind, one.job_id, one.state_bytes) == ("checkpoint_reported", JOB, None)
