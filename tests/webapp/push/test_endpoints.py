"""Log shippers push lines of one cluster over HTTP, and the collector reads them as it reads that
cluster's files.
"""

import base64
import gzip
import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard
from django.test import Client
from django.utils import timezone
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from ingest.flink_logs import tail
from ingest.flink_logs.files import read_file
from ingest.pushed import metrics_spool, spool
from ingest.pushed.metrics import read_pushed
from ingest.records import VertexMetrics
from tests.ingest.flink_logs.row_events import event_of
from tests.webapp.builders import person
from webapp.accounts.models import ApiToken
from webapp.fleet.models import Cluster
from webapp.push.models import PushToken

LOGS = Path(__file__).parents[2] / "fixtures" / "recordings" / "1.20.5" / "C2" / "logs"
JSON, OTLP, LOKI = "/api/v1/push/logs/", "/api/v1/push/v1/logs", "/api/v1/push/loki/api/v1/push"
METRICS = "/api/v1/push/v1/metrics"
AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
LINE = "2026-11-23 01:02:03,004 WARN  a.B [] - careful"


def push(client, path, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content, content_type="application/json", headers=headers)


def collected(cluster):
    """Typed events of every line that was pushed, without what names a file."""
    cluster.refresh_from_db()
    result = tail.read_new(cluster.source().logs, cluster.name, None, AT, final=True)
    return events(record for part in result.observed for record in part.records)


def events(records):
    found = [event for record in records if (event := event_of(record))]
    hidden = {"process", "file", "offset", "ordinal", "record_hash"}
    return sorted(
        repr([getattr(event, name) for name in event.__slots__ if name not in hidden])
        for event in found
    )


def recorded_events():
    return events(
        record
        for path in LOGS.iterdir()
        for records, _ in read_file(str(path))
        for record in records
    )


def fluent_bit(path, lines):
    return [
        {"date": 1_790_000_000 + number / 1e6, "log": text, "kubernetes": {"pod_name": path.stem}}
        for number, text in enumerate(lines)
    ]


def loki(path, lines):
    return {
        "streams": [
            {
                "stream": {"pod": path.stem},
                "values": [[f"179{number:016d}", text] for number, text in enumerate(lines)],
            }
        ]
    }


def otlp_json(path, lines):
    records = [
        {"timeUnixNano": f"179{number:016d}", "body": {"stringValue": text}}
        for number, text in enumerate(lines)
    ]
    resource = {"attributes": [{"key": "k8s.pod.name", "value": {"stringValue": path.stem}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": records}]}]}


@pytest.mark.parametrize(("path", "form"), [(JSON, fluent_bit), (LOKI, loki), (OTLP, otlp_json)])
def test_recorded_logs_pushed_line_by_line_and_twice_give_the_events_of_the_files(
    shipper, cluster, path, form
):
    for log in LOGS.iterdir():
        lines = log.read_text().splitlines()
        for first in range(0, len(lines), 700):
            body = form(log, lines)
            match body:  # batches as a shipper cuts them, in the middle of stack traces, too
                case list():
                    body = body[first : first + 700]
                case {"streams": [stream]}:
                    stream["values"] = stream["values"][first : first + 700]
                case {"resourceLogs": [{"scopeLogs": [scope]}]}:
                    scope["logRecords"] = scope["logRecords"][first : first + 700]
            for _ in range(2):
                assert (
                    push(
                        shipper,
                        path,
                        gzip.compress(json.dumps(body).encode()),
                        **{"content-encoding": "gzip"},
                    ).status_code
                    < 300
                )
    expected = recorded_events()
    assert len(expected) > 50
    assert collected(cluster) == expected
    token = PushToken.objects.get()
    assert token.lines > 0


def test_what_opentelemetry_s_own_exporter_sends_is_read(live_server, cluster):
    _, text = PushToken.objects.issue(cluster, "otel")
    address = f"{live_server.url}{OTLP}"
    for compression in (Compression.Gzip, Compression.NoCompression):
        exporter = OTLPLogExporter(
            address, headers={"Authorization": f"Bearer {text}"}, compression=compression
        )
        provider = LoggerProvider(Resource({"k8s.pod.name": "jm-0"}))
        provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
        logger = logging.getLogger("otlp-of-a-test")
        handler = LoggingHandler(logger_provider=provider)
        logger.addHandler(handler)
        logger.warning(LINE)
        logger.removeHandler(handler)
        provider.shutdown()
    assert PushToken.objects.get().lines == 2
    assert LINE in Path(cluster.source().logs.globs[0]).with_name("jm-0.log").read_text()


def test_zstd_and_basic_sign_in_work(cluster):
    _, text = PushToken.objects.issue(cluster, "alloy")
    client = Client(
        headers={"authorization": "Basic " + base64.b64encode(f"weir:{text}".encode()).decode()}
    )
    packed = zstandard.ZstdCompressor().compress(json.dumps({"log": LINE, "pod": "p"}).encode())
    answer = push(client, JSON, packed, **{"content-encoding": "zstd"})
    assert answer.json() == {"lines": 1, "repeated": 0, "skipped": 0, "problem": ""}


def test_damaged_records_are_skipped_and_said(shipper):
    answer = push(
        shipper, JSON, b'{"log": "' + LINE.encode() + b'"}\n{"log": \n{"nothing": 1}'
    ).json()
    assert (answer["lines"], answer["skipped"]) == (1, 2)
    assert "no whole JSON object" in answer["problem"]
    assert "no whole JSON object" in PushToken.objects.get().last_problem


@pytest.mark.parametrize(
    ("path", "body", "encoding", "status"),
    [
        (JSON, b"x" * 10, "gzip", 400),
        (JSON, gzip.compress(bytes(20_000_000)), "gzip", 413),
        (JSON, b"{}", "br", 415),
        (LOKI, b"[]", "", 400),
        (OTLP, b"none", "", 400),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_a_reason(shipper, path, body, encoding, status):
    answer = push(shipper, path, body, **{"content-encoding": encoding})
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_a_time_that_no_database_stores_is_no_time(shipper):
    record = {"timeUnixNano": "\ud800", "observedTimeUnixNano": "\x00"}
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    assert push(shipper, OTLP, body).json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert PushToken.objects.get().last_problem


def test_a_lake_that_is_behind_is_429_with_a_time_and_nothing_is_kept(
    shipper, cluster, monkeypatch
):
    monkeypatch.setattr("webapp.push.receiving.ROOM_FOR_S", 0)
    monkeypatch.setattr(spool, "MAX_UNREAD_BYTES", 20)
    assert push(shipper, JSON, {"log": LINE, "pod": "p"}).status_code == 200
    answer = push(shipper, JSON, {"log": LINE, "pod": "q"})
    assert (answer.status_code, answer["Retry-After"]) == (429, "30")
    assert [path.name for path in Path(cluster.source().logs.globs[0]).parent.glob("*.log")] == [
        "p.log"
    ]


@pytest.mark.parametrize("path", [JSON, OTLP, LOKI])
def test_only_a_valid_token_to_push_may_push(cluster, path):
    user_token = ApiToken.objects.issue(person("olga", operator=True), "all", "write")[1]
    _, expired = PushToken.objects.issue(cluster, "old", timezone.now())
    revoked_token, revoked = PushToken.objects.issue(cluster, "gone")
    revoked_token.delete()
    for text in (user_token, expired, revoked, "none"):
        assert (
            push(Client(headers={"authorization": f"Bearer {text}"}), path, {}).status_code == 401
        )
    signed_in = Client()
    signed_in.force_login(person("anna", operator=True))
    assert push(signed_in, path, {}).status_code == 401
    assert push(Client(), path, {}).status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/clusters/", "/api/v1/jobs/", "/"])
def test_a_token_to_push_reads_nothing(shipper, path):
    assert shipper.get(path).status_code in (302, 401)


def test_lines_of_one_token_are_of_its_cluster_alone(shipper, cluster):
    other = Cluster.objects.create(name="other", logs_are_pushed=True)
    push(shipper, JSON, {"log": LINE, "pod": "p", "cluster": "other"})
    assert not Path(other.source().logs.globs[0]).parent.exists()


def test_what_opentelemetry_s_own_exporter_sends_of_metrics_is_kept_for_the_collector(
    live_server, cluster
):
    _, text = PushToken.objects.issue(cluster, "flink")
    exporter = OTLPMetricExporter(
        f"{live_server.url}{METRICS}",
        headers={"Authorization": f"Bearer {text}"},
        compression=Compression.Gzip,
    )
    provider = MeterProvider(
        [PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)]
    )
    labels = {"job_id": "a" * 32, "task_id": "b" * 32, "subtask_index": "0", "tm_id": "tm-1"}
    meter = provider.get_meter("flink")
    meter.create_gauge("flink.taskmanager.job.task.busyTimeMsPerSecond").set(250, labels)
    meter.create_gauge("flink.taskmanager.job.task.ofSomebodyElse").set(1, labels)
    provider.force_flush()
    provider.shutdown()
    assert PushToken.objects.get().last_problem == ""
    assert PushToken.objects.get().lines >= 1
    source = cluster.source()
    later = timezone.now() + timedelta(seconds=2 * source.metrics_interval_s)
    rows = [
        row
        for part in read_pushed(source, {}, later).observed
        for row in part.records
        if isinstance(row, VertexMetrics)
    ]
    assert {row.busy_ms_per_s for row in rows} == {(250.0,)}


def test_metrics_that_cannot_be_read_are_said_on_the_token_and_a_damaged_body_is_refused(shipper):
    delta = {
        "name": "flink.taskmanager.job.task.numRecordsIn",
        "sum": {"aggregationTemporality": 1, "dataPoints": [{"asInt": "1"}]},
    }
    body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [delta]}]}]}
    assert push(shipper, METRICS, body).status_code == 200
    assert "differences" in PushToken.objects.get().last_problem
    assert push(shipper, METRICS, b"none").status_code == 400
    assert (
        push(
            shipper, METRICS, gzip.compress(bytes(20_000_000)), **{"content-encoding": "gzip"}
        ).status_code
        == 413
    )


def test_metrics_are_429_with_a_time_while_nobody_reads_them(shipper, monkeypatch):
    monkeypatch.setattr(metrics_spool, "MAX_BYTES", -1)
    point = {"timeUnixNano": str(int(timezone.now().timestamp() * 1e9)), "asInt": "1"}
    body = {
        "resourceMetrics": [
            {
                "scopeMetrics": [
                    {
                        "metrics": [
                            {
                                "name": "flink.jobmanager.job.numRestarts",
                                "gauge": {"dataPoints": [point]},
                            }
                        ]
                    }
                ]
            }
        ]
    }
    answer = push(shipper, METRICS, body)
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
