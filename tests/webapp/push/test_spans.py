"""What Flink pushes of its checkpoints and initializations, from the request to what is served."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from ingest.lake.store import Lake
from ingest.records import Checkpoint, Job, Observed, StateSince, VertexStart
from ingest.shard_collector import collect_shard
from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT, JOB_START, ServingTable
from tests.first_cycles import cycled
from tests.ingest.pushed.test_flink_reports import (
    BEGUN_MS,
    FAILURES,
    JOB,
    MASTER,
    OF_JOB,
    TRACKER,
    event,
    instant,
    span,
    spans,
)
from webapp.fleet.models import Cluster
from webapp.push import receiving
from webapp.push.models import PushToken
from webapp.work.keys import collect_key
from webapp.work.models import DueWork

TRACES, LOGS = "/api/v1/push/v1/traces", "/api/v1/push/v1/logs"
AT = datetime.fromtimestamp(BEGUN_MS / 1000, UTC) + timedelta(minutes=1)
WHOLE = {"checkpointId": 7, "checkpointStatus": "COMPLETED", "fullSize": 4096}


def push(client: Client, path: str, body: Any) -> Any:
    packed = gzip.compress(json.dumps(body).encode())
    headers = {"content-encoding": "gzip"}
    return client.post(path, packed, content_type="application/json", headers=headers)


def served(cluster: Cluster, home: Path, *tables: ServingTable, rest: Any = ()) -> Any:
    lake = Lake(str(home / "lake"))
    if rest:
        lake.append([Observed(cluster.name, AT, "rest", tuple(rest))])
    cluster.refresh_from_db()
    collect_shard([cluster.source()], {}, lake, at=lambda: AT)
    return cycled(lake, home, *tables)


def test_a_checkpoint_that_only_a_span_has_is_served_with_its_figures(
    shipper: Client, cluster: Cluster, home: Path
) -> None:
    for _ in range(2):
        answer = push(shipper, TRACES, spans(span("Checkpoint", 950, **WHOLE, checkpointedSize=77)))
        assert (answer.status_code, answer.json()) == (200, {})
    assert PushToken.objects.get().lines == 1
    (fact,), (job,) = served(cluster, home, CHECKPOINT_FACT, JOB_CURRENT)
    assert (fact["cluster"], fact["job_id"], fact["checkpoint_id"]) == ("prod", JOB, 7)
    assert (fact["outcome"], fact["final"], fact["sources"]) == ("completed", True, "span")
    assert (fact["end_to_end_ms"], fact["state_bytes"]) == (950, 4096)
    assert fact["checkpointed_bytes"] == 77
    assert (fact["trigger_time"], fact["end_time"]) == (instant(BEGUN_MS), instant(BEGUN_MS + 950))
    assert (job["name"], job["last_completed_id"]) == (OF_JOB["job_name"], 7)


def test_a_value_of_rest_is_preferred_and_a_span_ends_what_rest_saw_in_progress(
    shipper: Client, cluster: Cluster, home: Path
) -> None:
    push(
        shipper,
        TRACES,
        spans(
            span("Checkpoint", 950, **WHOLE),
            span("Checkpoint", 950, **WHOLE | {"checkpointId": 8, "checkpointedSize": 77}),
        ),
    )
    trigger = instant(BEGUN_MS)
    rest = [
        Checkpoint(JOB, 7, trigger, "COMPLETED", end_to_end_ms=940, checkpointed_bytes=5),
        Checkpoint(JOB, 8, trigger, "IN_PROGRESS", state_bytes=1),
    ]
    (facts,) = served(cluster, home, CHECKPOINT_FACT, rest=rest)
    known, ended = sorted(facts, key=lambda fact: fact["checkpoint_id"])
    assert (known["end_to_end_ms"], known["state_bytes"], known["checkpointed_bytes"]) == (
        940,
        4096,
        5,
    )
    assert (ended["outcome"], ended["end_to_end_ms"], ended["state_bytes"]) == (
        "completed",
        950,
        4096,
    )
    assert {fact["sources"] for fact in facts} == {"rest+span"}


def test_a_start_that_rest_has_gets_the_parts_of_its_initialization(
    shipper: Client, cluster: Cluster, home: Path
) -> None:
    parts = {"maxInitializeStateDurationMs": 800, "sumInitializeStateDurationMs": 1500}
    sent = span("JobInitialization", 900, initializationStatus="COMPLETED", checkpointId=6, **parts)
    push(shipper, TRACES, spans(sent))
    begun = instant(BEGUN_MS)
    after = [begun + timedelta(milliseconds=ms) for ms in (10, 20, 950)]
    rest = [
        Job(JOB, "orders", "RUNNING", begun, state_since=(StateSince("RUNNING", begun),)),
        VertexStart(
            JOB,
            "b" * 32,
            AT,
            (0,),
            ("tm-1",),
            ("tm-1:1",),
            (begun,),
            *((moment,) for moment in after),
        ),
    ]
    ((start,),) = served(cluster, home, JOB_START, rest=rest)
    assert (start["at"], start["restore_ms"]) == (begun, 930)
    assert start["detail"]["initialization"] == {
        "state": "COMPLETED",
        "duration_ms": 900,
        "checkpoint_id": 6,
        "state_bytes": None,
        "parts_ms": {"InitializeState": {"longest": 800, "sum": 1500}},
    }


def test_events_give_a_job_its_state(shipper: Client, cluster: Cluster, home: Path) -> None:
    push(shipper, LOGS, event("JobStatusChangeEvent", MASTER, newJobStatus="RESTARTING"))
    push(shipper, LOGS, event("JobFailureEvent", FAILURES, canRestart="true"))
    ((job,),) = served(cluster, home, JOB_CURRENT)
    assert (job["state"], job["restarts"], job["name"]) == ("RESTARTING", 1, OF_JOB["job_name"])


@pytest.mark.parametrize(
    ("status", "rested_s", "due_within_s"),
    [("COMPLETED", 60, 8), ("FAILED", 60, 0), ("FAILED", 0, receiving.LEAST_REST.total_seconds())],
)
def test_a_failure_is_collected_at_once_but_for_a_short_rest(
    shipper: Client, cluster: Cluster, status: str, rested_s: int, due_within_s: float
) -> None:
    now, key = timezone.now(), collect_key(cluster.shard)
    DueWork.objects.create(
        key=key,
        interval_s=8,
        next_attempt_at=now + timedelta(seconds=8),
        last_started_at=now - timedelta(seconds=rested_s + 1),
        last_finished_at=now - timedelta(seconds=rested_s),
    )
    sent = event("CheckpointEvent", TRACKER, checkpointId=7, checkpointStatus=status)
    push(shipper, LOGS, sent)
    due_at = DueWork.objects.get(key=key).next_attempt_at
    assert abs(due_at - now - timedelta(seconds=due_within_s)) < timedelta(seconds=1)


def test_what_opentelemetry_s_own_exporter_sends_of_spans_is_read(
    live_server: Any, cluster: Cluster, home: Path
) -> None:
    _, text = PushToken.objects.issue(cluster, "otel")
    exporter = OTLPSpanExporter(
        f"{live_server.url}{TRACES}",
        headers={"Authorization": f"Bearer {text}"},
        compression=Compression.Gzip,
    )
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    begun = provider.get_tracer(TRACKER).start_span(
        "Checkpoint", attributes=OF_JOB | WHOLE, start_time=BEGUN_MS * 1_000_000
    )
    begun.end(end_time=(BEGUN_MS + 950) * 1_000_000)
    provider.shutdown()
    ((fact,),) = served(cluster, home, CHECKPOINT_FACT)
    assert (fact["outcome"], fact["end_to_end_ms"]) == ("completed", 950)


def test_a_span_without_a_job_is_rejected_by_number(shipper: Client) -> None:
    answer = push(shipper, TRACES, spans(span("Checkpoint", 1, **WHOLE, job_id="none")))
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert "Checkpoint" in PushToken.objects.get().last_problem


@pytest.mark.parametrize(
    ("body", "status"), [(b"none", 400), (gzip.compress(bytes(20_000_000)), 413)]
)
def test_a_body_of_spans_that_cannot_be_read_is_refused(
    shipper: Client, body: bytes, status: int
) -> None:
    encoding = {"content-encoding": "gzip"} if status == 413 else {}
    assert (
        shipper.post(TRACES, body, content_type="application/json", headers=encoding).status_code
        == status
    )
