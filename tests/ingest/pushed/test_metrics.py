"""Samples that a reporter pushes by OTLP become the rows that a Prometheus with the same samples
gives.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from ingest.flink_rest.metric_names import (
    JOB_METRICS,
    SOURCE_METRICS,
    SUBTASK_METRICS,
    TASKMANAGER_METRICS,
)
from ingest.lake.store import Lake
from ingest.pushed import metrics_spool, otlp_metrics
from ingest.pushed.metric_sample import Sample
from ingest.pushed.metrics import read_pushed
from ingest.pushed.metrics_spool import MetricsSpool
from ingest.pushed.spool import Behind
from ingest.records import Job, TaskManager, VertexGauges, VertexMetrics
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource
from tests.ingest.prometheus.test_recorded import STEP_S, lines, read, records
from tests.ingest.test_shard_collector import rows

COUNTERS = ("numRecordsIn", "numRecordsOut")
AT_S = 1_795_435_200
AT = datetime.fromtimestamp(AT_S, UTC)
TASK = {"job_id": "a" * 32, "task_id": "b" * 32, "subtask_index": "0", "task_attempt_num": "0"}


def flink_names():
    """Names of the Prometheus reporter → those of the OpenTelemetry reporter, as both are
    documented to be built.
    """
    states = [
        f"{state}Time"
        for state in ("initializing", "created", "running", "failing", "cancelling", "restarting")
    ]
    counts = [
        "totalNumberOfCheckpoints",
        "numberOfCompletedCheckpoints",
        "numberOfFailedCheckpoints",
        "numberOfInProgressCheckpoints",
    ]
    scopes = {
        "taskmanager.job.task": [name for names in SUBTASK_METRICS.values() for name in names]
        + list(COUNTERS),
        "taskmanager.job.task.operator": [
            name for names in SOURCE_METRICS.values() for name in names
        ]
        + ["split.watermark.pausedTimeMsPerSecond"],
        "jobmanager.job": [name for names in JOB_METRICS.values() for name in names]
        + states
        + counts,
        "taskmanager": [name for names in TASKMANAGER_METRICS.values() for name in names],
    }
    dotted = [f"flink.{scope}.{name}" for scope, names in scopes.items() for name in names]
    return {
        name.replace(".", "_"): f"{name}.rate"
        if name.endswith("PerSecond") and "Records" in name
        else name
        for name in dotted
    }


def metric(name, points, temporality=None):
    data = [NumberDataPoint(labels, 0, round(at * 1e9), value) for labels, at, value in points]
    return Metric(name, "", "", Sum(data, temporality, True) if temporality else Gauge(data))


def encoded(*metrics):
    scope = ScopeMetrics(InstrumentationScope("org.apache.flink.metrics.otel"), list(metrics), "")
    return encode_metrics(
        MetricsData([ResourceMetrics(Resource({}), [scope], "")])
    ).SerializeToString()


def recorded(version):
    """What Weir reads of the recorded Prometheus, as one push, and the newest instant of it."""
    names, metrics, newest = flink_names(), [], 0
    for one in lines(version, "prometheus"):
        for series in one["body"]["data"]["result"]:
            labels = dict(series["metric"])
            name = names.get(labels.pop("__name__"))
            if name is None:
                continue
            points = [(labels, at, float(value)) for at, value in series["values"]]
            temporality = AggregationTemporality.CUMULATIVE if name.endswith(COUNTERS) else None
            metrics.append(metric(name, points, temporality))
            newest = max(newest, *(at for _, at, _ in points))
    return encoded(*metrics), newest


def source(tmp_path, url="", step_s=STEP_S):
    return ClusterSource(
        "lab", url, pushed_metrics=str(tmp_path / "metrics"), metrics_interval_s=step_s
    )


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
@pytest.mark.parametrize("url", ["", "http://jobmanager:8081"])
def test_the_same_samples_pushed_give_the_rows_of_the_recorded_prometheus(tmp_path, version, url):
    body, newest = recorded(version)
    spool = MetricsSpool(tmp_path / "metrics")
    for _ in range(2):
        assert spool.take(otlp_metrics.from_protobuf(body).samples, newest) > 500
    pushed = read_pushed(
        source(tmp_path, url), {}, datetime.fromtimestamp(newest + STEP_S + 1, UTC)
    )
    scraped, _ = read(version, url)
    for kind in (VertexMetrics, TaskManager, Job):
        assert sorted(map(repr, records(pushed, kind))) == sorted(map(repr, records(scraped, kind)))
    assert records(pushed, VertexMetrics)
    assert pushed.jobs_seen == scraped.jobs_seen


def test_taskmanagers_that_report_at_their_own_instants_make_one_sample_of_a_step(tmp_path):
    names = "flink.taskmanager.job.task.busyTimeMsPerSecond"
    points = [
        (TASK | {"subtask_index": str(index)}, AT_S - 40 + index * 3.1, 100.0 + index)
        for index in range(3)
    ]
    MetricsSpool(tmp_path / "metrics").take(
        otlp_metrics.from_protobuf(encoded(metric(names, points))).samples, AT_S
    )
    (row,) = records(read_pushed(source(tmp_path, step_s=30), {}, AT), VertexMetrics)
    assert row.busy_ms_per_s == (100.0, 101.0, 102.0)


def test_each_step_is_read_once_and_what_comes_later_is_left(tmp_path):
    spool = MetricsSpool(tmp_path / "metrics")
    name = "flink.taskmanager.job.task.busyTimeMsPerSecond"
    spool.take(
        otlp_metrics.from_protobuf(
            encoded(metric(name, [(TASK, AT_S - 35, 1.0), (TASK, AT_S - 5, 2.0)]))
        ).samples,
        AT_S,
    )
    first = read_pushed(source(tmp_path, step_s=10), {}, AT)
    assert [row.busy_ms_per_s for row in records(first, VertexMetrics)] == [(1.0,)]
    assert not read_pushed(source(tmp_path, step_s=10), first.cursor, AT).observed
    later = read_pushed(
        source(tmp_path, step_s=10), first.cursor, datetime.fromtimestamp(AT_S + 15, UTC)
    )
    assert [row.busy_ms_per_s for row in records(later, VertexMetrics)] == [(2.0,)]


def test_differences_are_refused_by_name_and_kinds_without_a_number_are_counted():
    name = "flink.taskmanager.job.task.numRecordsIn"
    found = otlp_metrics.from_protobuf(
        encoded(metric(name, [(TASK, AT_S, 5)], AggregationTemporality.DELTA))
    )
    assert not found.samples
    assert "flink_taskmanager_job_task_numRecordsIn are differences" in found.problem
    summary = {
        "name": "flink.taskmanager.job.task.busyTimeMsPerSecond",
        "summary": {"dataPoints": [{}]},
    }
    document = {
        "resourceMetrics": [
            {
                "scopeMetrics": [
                    {"metrics": [summary, {"name": "flink.user.latency", "histogram": {}}]}
                ]
            }
        ]
    }
    found = otlp_metrics.from_json(json.dumps(document).encode())
    assert found.unread.total() == 1


@pytest.mark.parametrize(
    "point",
    [
        {},
        {"timeUnixNano": "x", "asDouble": 1},
        {"timeUnixNano": "1", "asDouble": "NaN"},
        {"timeUnixNano": "9" * 40, "asInt": "1"},
        {"timeUnixNano": "-5", "asInt": "1"},
        {"timeUnixNano": str(AT_S * 10**9), "asInt": "1e999"},
        {"timeUnixNano": [], "asInt": {}},
        7,
        {"timeUnixNano": str(AT_S * 10**9)},
    ],
)
def test_points_of_odd_form_are_counted_and_those_beside_them_taken(point):
    good = {
        "timeUnixNano": str(AT_S * 10**9),
        "asInt": "7",
        "attributes": [{"key": "job_id", "value": {"stringValue": "a" * 32}}],
    }
    metrics = [
        {"name": "flink.jobmanager.job.numRestarts", "gauge": {"dataPoints": [point, good]}},
        None,
        {"name": 5},
    ]
    found = otlp_metrics.from_json(
        json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}, 3]}).encode()
    )
    assert [sample.value for sample in found.samples] == [7.0]
    assert found.unread.total() == 1


def test_samples_of_a_wrong_clock_are_not_kept(tmp_path):
    (good,) = otlp_metrics.from_protobuf(
        encoded(metric("flink.jobmanager.job.numRestarts", [(TASK, AT_S, 1)]))
    ).samples
    wrong = [replace(good, at_s=at) for at in (AT_S - 7200, AT_S + 7200)]
    assert MetricsSpool(tmp_path / "metrics").take([good, *wrong], AT_S) == 1


def test_a_spool_that_nobody_reads_refuses_more(tmp_path, monkeypatch):
    monkeypatch.setattr(metrics_spool, "MAX_BYTES", 100)
    samples = otlp_metrics.from_protobuf(
        encoded(metric("flink.jobmanager.job.numRestarts", [(TASK, AT_S, 1)]))
    ).samples
    spool = MetricsSpool(tmp_path / "metrics")
    spool.take(samples, AT_S)
    with pytest.raises(Behind, match="catch up"):
        spool.take(samples, AT_S)


def test_a_reporter_that_falls_silent_is_said_and_forgotten_after_a_day(tmp_path):
    samples = otlp_metrics.from_protobuf(
        encoded(metric("flink.jobmanager.job.numRestarts", [(TASK, AT_S - 30, 1)]))
    ).samples
    MetricsSpool(tmp_path / "metrics").take(samples, AT_S)
    first = read_pushed(source(tmp_path), {}, AT)
    assert (first.reachable, first.error, first.jobs_seen) == (True, None, 1)
    silent = read_pushed(source(tmp_path), first.cursor, datetime.fromtimestamp(AT_S + 600, UTC))
    assert silent.reachable is False
    assert "reporter" in silent.error
    gone = read_pushed(source(tmp_path), silent.cursor, datetime.fromtimestamp(AT_S + 100_000, UTC))
    assert (gone.reachable, gone.error) == (None, None)
    assert not (tmp_path / "metrics").exists()


def test_a_damaged_line_of_the_spool_costs_nothing_else(tmp_path):
    spool = MetricsSpool(tmp_path / "metrics")
    samples = otlp_metrics.from_protobuf(
        encoded(metric("flink.jobmanager.job.numRestarts", [(TASK, AT_S - 30, 1)]))
    ).samples
    spool.take(samples, AT_S)
    (path,) = spool.folder.glob("*.jsonl")
    path.write_bytes(
        b'["flink_jobmana\xff\n[1, 2]\n{}\n["a", [], 1, 2]\n[null, {}, NaN, 1]\n'
        + path.read_bytes()
    )
    assert read_pushed(source(tmp_path), {}, AT).jobs_seen == 1


def test_what_comes_behind_a_line_that_was_cut_off_is_read(tmp_path):
    spool = MetricsSpool(tmp_path)
    spool.take([Sample("m", (), 60.0, 1.0)], 60.0)
    (path,) = spool.folder.glob("*.jsonl")
    path.write_text(path.read_text()[:-5])
    assert spool.take([Sample("m", (), 61.0, 2.0)], 61.0) == 1
    (series,) = spool.read(0.0, 90.0, 30)
    assert [value for _at, value in series.samples] == [2.0]


def test_a_cycle_of_the_collector_brings_pushed_samples_into_the_lake_once(tmp_path):
    body, newest = recorded("2.3.0")
    MetricsSpool(tmp_path / "metrics").take(otlp_metrics.from_protobuf(body).samples, newest)
    lake = Lake(str(tmp_path / "lake"))
    at = datetime.fromtimestamp(newest + STEP_S + 1, UTC)
    cursor = {}
    for _ in range(2):
        (outcome,) = collect_shard([source(tmp_path)], {"lab": cursor}, lake, at=lambda: at)
        cursor = outcome.cursor
    assert (outcome.reachable, outcome.error, outcome.jobs_seen) == (True, None, 1)
    found = rows(lake, "vertex_metrics")
    scraped, _ = read("2.3.0")
    assert len(found) == len(records(scraped, VertexMetrics))
    assert any(row["busy_ms_per_s"] for row in found)


def test_figures_of_rocksdb_and_of_inputs_are_put_together_over_states_and_subtasks(tmp_path):
    """Two operators of one vertex may have a state of the same name."""
    stopped = "flink.taskmanager.job.task.operator._timer_state/event_user-timers.rocksdb_is-write-stopped"
    behind = "flink.taskmanager.job.task.operator.currentInput1Watermark"
    at = AT_S - 35
    points = [
        (TASK | {"operator_id": operator, "subtask_index": str(index)}, at, 1)
        for operator in ("c", "d")
        for index in (0, 1)
    ]
    watermarks = [(TASK | {"subtask_index": str(index)}, at, 1_000 + index) for index in (0, 1)]
    body = encoded(metric(stopped, points), metric(behind, watermarks))
    MetricsSpool(tmp_path / "metrics").take(otlp_metrics.from_protobuf(body).samples, AT_S)
    (row,) = records(read_pushed(source(tmp_path, step_s=10), {}, AT), VertexGauges)
    assert (row.job_id, row.vertex_id, row.writes_stopped, row.input1_watermark_ms) == (
        TASK["job_id"],
        TASK["task_id"],
        4,
        1_000,
    )
