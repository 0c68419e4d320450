"""A real Prometheus that scraped a real Flink, asked as the collector asks it, beside the REST
answers of the same minute.

Recorded by ``python -m tests.lab.prometheus_recording``; the reporter's labels are as it writes
them by default.
"""

import asyncio
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ingest.prometheus.collector import MAX_STEPS, read_metrics
from ingest.records import Job, TaskManager, VertexGauges, VertexMetrics
from ingest.sources import ClusterSource, PrometheusSource

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "prometheus"
STEP_S = 5
KEY_CHARS = 60


def lines(version, name):
    with gzip.open(RECORDINGS / version / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Recorded:
    """Answers as Prometheus did, to whatever is asked of the same names; what was asked is kept.

    Names that are wanted since then come last, and have no series in a recording before that.
    """

    class address:
        base = "http://prometheus"

    def __init__(self, version):
        self.answers = {self.key(one["path"]): one["body"] for one in lines(version, "prometheus")}
        self.asked = []

    @staticmethod
    def key(path):
        return parse_qs(urlsplit(path).query)["query"][0][:KEY_CHARS]

    async def get(self, path):
        self.asked.append(
            {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        )
        return self.answers.get(
            self.key(path), {"status": "success", "data": {"resultType": "matrix", "result": []}}
        )


def read(version, url="", cursor=None, at=None):
    client = Recorded(version)
    spans = [parse_qs(urlsplit(one["path"]).query) for one in lines(version, "prometheus")]
    end = int(spans[0]["end"][0])
    source = ClusterSource(
        "lab",
        url=url,
        prometheus=PrometheusSource("http://prometheus", 'cluster="lab"'),
        metrics_interval_s=STEP_S,
    )
    start = {"until_s": int(spans[0]["start"][0]) - STEP_S} if cursor is None else cursor
    found = asyncio.run(
        read_metrics(
            client, source, start, lambda: at or datetime.fromtimestamp(end + STEP_S + 1, UTC)
        )
    )
    return found, client


def records(found, kind):
    return [
        record for part in found.observed for record in part.records if isinstance(record, kind)
    ]


def raw(version, name):
    """(labels, epoch s, value) of every sample of a metric, straight from the answers."""
    for one in lines(version, "prometheus"):
        for series in one["body"]["data"]["result"]:
            if series["metric"]["__name__"] == name:
                for at, value in series["values"]:
                    yield series["metric"], at, float(value)


@pytest.fixture(params=["1.20.5", "2.3.0"])
def version(request):
    return request.param


def test_every_sample_of_busy_time_is_at_its_subtask_and_instant(version):
    found, _ = read(version)
    expected = {
        (labels["task_id"], int(labels["subtask_index"]), at): value
        for labels, at, value in raw(version, "flink_taskmanager_job_task_busyTimeMsPerSecond")
    }
    told = {
        (row.vertex_id, subtask, row.ts.timestamp()): value
        for row in records(found, VertexMetrics)
        for subtask, value in enumerate(row.busy_ms_per_s or ())
        if value is not None
    }
    assert told == expected
    assert len(expected) > 30


def test_records_counted_lie_between_those_that_rest_counted_before_and_after(version):
    found, _ = read(version)
    rest = {}
    for one in lines(version, "rest"):
        if one["status"] == 200 and one["path"].count("/") == 4 and "/vertices/" in one["path"]:
            for subtask in one["body"]["subtasks"]:
                rest.setdefault((one["path"].split("/")[4], subtask["subtask"]), []).append(
                    (one["ts"], subtask["metrics"]["write-records"])
                )
    compared = 0
    for row in records(found, VertexMetrics):
        for subtask, count in enumerate(row.records_out or ()):
            seen = rest.get((row.vertex_id, subtask), [])
            # The JobManager collects counters every two seconds, and asks for them when it is
            # asked; Prometheus scrapes every two.
            before = [records for at, records in seen if at < row.ts.timestamp() - 8]
            after = [records for at, records in seen if at > row.ts.timestamp() + 8]
            if before and after and count is not None:
                assert max(before) <= count <= min(after)
                compared += 1
    assert compared > 10


def test_the_job_runs_and_has_the_counts_and_vertices_that_rest_says(version):
    found, _ = read(version)
    job = records(found, Job)[-1]
    answers = [one for one in lines(version, "rest") if one["status"] == 200]
    vertices = [one["body"]["vertices"] for one in answers if one["path"] == f"/jobs/{job.job_id}"][
        -1
    ]
    assert (job.state, job.name) == (
        "RUNNING",
        "lab_scraped",
    )  # "lab-scraped"; the reporter writes _ for what it takes for odd
    assert {(vertex.vertex_id, vertex.parallelism) for vertex in job.vertices} == {
        (one["id"], one["parallelism"]) for one in vertices
    }
    counts = [one["body"]["counts"] for one in answers if one["path"].endswith("/checkpoints")]
    assert counts[0]["completed"] <= job.checkpoints_completed <= counts[-1]["completed"] + 1
    assert job.restarts == 0
    assert job.edges is None  # nobody reports how vertices are connected


def test_the_operator_that_was_slowed_down_is_busy_and_what_feeds_it_back_pressured(version):
    found, _ = read(version)
    names = {vertex.vertex_id: vertex.name for vertex in records(found, Job)[-1].vertices}
    newest = {names[row.vertex_id]: row for row in records(found, VertexMetrics)}
    assert min(newest["enrich"].busy_ms_per_s) > 900
    assert max(newest["parse"].backpressured_ms_per_s) > 700
    assert max(newest["enrich"].in_pool_usage) > 0.5


def test_taskmanagers_have_the_memory_that_the_reporter_says(version):
    found, _ = read(version)
    expected = {
        (labels["tm_id"], at): int(value)
        for labels, at, value in raw(version, "flink_taskmanager_Status_JVM_Memory_Heap_Used")
    }
    assert {
        (row.taskmanager_id, row.ts.timestamp()): row.heap_used_bytes
        for row in records(found, TaskManager)
    } == expected


def test_the_lag_of_a_real_source_is_at_its_subtask_and_instant():
    found, _ = read("2.3.0")
    names = {
        "pendingRecords": "pending_records",
        "currentEmitEventTimeLag": "emit_lag_ms",
        "currentFetchEventTimeLag": "fetch_lag_ms",
        "watermarkLag": "watermark_lag_ms",
        "sourceIdleTime": "source_idle_ms",
    }
    expected = {
        (column, labels["task_id"], int(labels["subtask_index"]), at): value
        for name, column in names.items()
        for labels, at, value in raw("2.3.0", f"flink_taskmanager_job_task_operator_{name}")
    }
    assert len(expected) >= 30
    assert {
        (column, row.vertex_id, subtask, row.ts.timestamp()): value
        for row in records(found, VertexMetrics)
        for column in names.values()
        for subtask, value in enumerate(getattr(row, column) or ())
        if value is not None
    } == expected


def test_beside_a_jobmanager_only_samples_are_taken_and_places_left_to_it(version):
    found, _ = read(version, url="http://jobmanager:8081")
    kinds = {type(record) for part in found.observed for record in part.records}
    assert kinds - {VertexGauges} == {VertexMetrics}
    assert {row.host for row in records(found, VertexMetrics)} == {None}


def test_the_same_steps_give_the_same_rows(version):
    assert read(version)[0] == read(version)[0]


def test_every_query_is_of_this_cluster_s_series(version):
    _, client = read(version)
    assert all('cluster="lab"' in one["query"] for one in client.asked)


@pytest.mark.parametrize(
    ("until_s", "start", "end"),
    [
        (None, 990, 990),  # new: one step, not history
        (980, 985, 990),
        (990, None, None),  # nothing new
        (985, 990, 990),
        (2000, 990, 990),  # a clock that was set back
        (700, 705, 705 + (MAX_STEPS - 1) * STEP_S),  # behind: as much as one answer may hold
        ("odd", 990, 990),
    ],
)
def test_steps_follow_each_other_without_gap_and_none_is_asked_before_it_is_one_step_old(
    until_s, start, end
):
    _, client = read("1.20.5", cursor={"until_s": until_s}, at=datetime.fromtimestamp(998, UTC))
    spans = {(int(one["start"]), int(one["end"])) for one in client.asked}
    assert spans == ({(start, end)} if start else set())
