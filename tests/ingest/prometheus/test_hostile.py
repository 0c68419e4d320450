"""What claims to be Prometheus may answer anything."""

import asyncio
from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import Skipped
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.prometheus.collector import read_metrics
from ingest.prometheus.rows import Subtasks, jobs, series, taskmanagers
from ingest.records import VertexMetrics
from ingest.sources import ClusterSource, PrometheusSource
from webapp.fleet.validators import are_label_matchers

SOURCE = ClusterSource("lab", prometheus=PrometheusSource("http://prometheus"))
AT = datetime(2026, 11, 23, tzinfo=UTC)
JOB, VERTEX = "a" * 32, "b" * 32


class Answering:
    class address:
        base = "http://prometheus"

    def __init__(self, answer):
        self.answer = answer

    async def get(self, path):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def matrix(*found):
    return {"status": "success", "data": {"resultType": "matrix", "result": list(found)}}


def task(name, samples, **labels):
    about = {
        "task_id": VERTEX,
        "subtask_index": "0",
        "task_attempt_num": "0",
        "job_id": JOB,
        **labels,
    }
    return {
        "metric": {"__name__": f"flink_taskmanager_job_task_{name}", **about},
        "values": samples,
    }


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["NaN", "+Inf", "-1", "1e400", "12"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text() | st.sampled_from(["metric", "values", "__name__", "task_id"]), inner
        )
    ),
)


@given(JSON, JSON)
def test_no_answer_raises(document, part):
    for answer in (
        document,
        matrix(document, part),
        matrix({"metric": {"__name__": "x"}, "values": document}),
        matrix(task("busyTimeMsPerSecond", document)),
    ):
        found = asyncio.run(read_metrics(Answering(answer), SOURCE, {}, lambda: AT))
        assert found.reachable in (True, False)
        if not found.reachable:
            assert found.error
            assert found.skips


@pytest.mark.parametrize(
    "error",
    [
        Unanswered("It cannot be reached.", "unreachable"),
        BadAnswer("No.", "bad_json", 200),
    ],
)
def test_a_server_that_does_not_answer_is_an_error_and_the_cursor_stays(error):
    found = asyncio.run(read_metrics(Answering(error), SOURCE, {"until_s": 1}, lambda: AT))
    assert (found.reachable, found.error, found.cursor) == (False, str(error), {"until_s": 1})


def test_a_query_that_is_refused_is_said_in_its_words():
    with pytest.raises(Skipped, match="too many points"):
        list(series({"status": "error", "error": "too many points"}))


def test_unknown_is_unknown():
    found = Subtasks(series(matrix(
        task("busyTimeMsPerSecond", [[10, "NaN"], [20, "-1"]]),
        task("backPressuredTimeMsPerSecond", [[10, "7"], [20, "7"]]),
        task("currentInputWatermark", [[10, "-9223372036854775808"], [20, "1790000000000"]]),
    )))  # fmt: skip
    first, second = (row for _, row in found.rows(JOB, with_placement=True))
    assert (first.busy_ms_per_s, second.busy_ms_per_s) == (None, None)
    assert (first.watermark_ms, second.watermark_ms) == (None, (1790000000000,))
    assert first.host is None


def test_of_a_restarted_subtask_the_newest_attempt_counts():
    found = Subtasks(
        series(
            matrix(
                task("numRecordsIn", [[10, "900"]]),
                task("numRecordsIn", [[10, "3"]], task_attempt_num="1"),
            )
        )
    )
    ((_, row),) = found.rows(JOB, with_placement=True)
    assert isinstance(row, VertexMetrics)
    assert (row.records_in, row.attempt) == ((3,), (1,))


def test_a_missing_subtask_is_a_gap_at_its_place():
    found = Subtasks(series(matrix(task("busyTimeMsPerSecond", [[10, "5"]], subtask_index="2"))))
    ((_, row),) = found.rows(JOB, with_placement=True)
    assert row.busy_ms_per_s == (None, None, 5.0)


@pytest.mark.parametrize(
    "labels",
    [
        {"task_id": "../x"},
        {"subtask_index": "-1"},
        {"subtask_index": "99999999999"},
        {"subtask_index": "x"},
    ],
)
def test_odd_labels_are_of_no_subtask(labels):
    assert (
        list(
            Subtasks(series(matrix(task("busyTimeMsPerSecond", [[10, "5"]], **labels)))).rows(
                JOB, with_placement=True
            )
        )
        == []
    )


def test_a_job_that_restarts_says_so_and_one_of_an_old_release_says_nothing():
    def of(name, value, job):
        return {
            "metric": {"__name__": f"flink_jobmanager_job_{name}", "job_id": job, "job_name": "x"},
            "values": [[10, value]],
        }

    found = jobs(
        series(
            matrix(
                of("runningTime", "0", JOB),
                of("restartingTime", "3000", JOB),
                of("numRestarts", "2", "c" * 32),
            )
        )
    )
    states = {job.job_id: job.state for _, job in found}
    assert states == {JOB: "RESTARTING", "c" * 32: None}


def test_taskmanagers_without_a_name_are_none():
    one = {
        "metric": {"__name__": "flink_taskmanager_Status_JVM_CPU_Load", "tm_id": "../x"},
        "values": [[10, "1"]],
    }
    assert list(taskmanagers(series(matrix(one)))) == []


@pytest.mark.parametrize(
    "text", ['namespace="flink"', 'a="b",c=~"d|e"', 'a!="\\"x"', ' a = "b" , c!~"d" ']
)
def test_label_matchers_are_taken(text):
    are_label_matchers(text)


@pytest.mark.parametrize(
    "text", ["x", 'a="b"} or vector(1)', '{a="b"}', 'a="b', 'a="b"c="d"', 'a="b\n"']
)
def test_what_is_more_than_label_matchers_is_refused(text):
    with pytest.raises(ValidationError):
        are_label_matchers(text)


def test_a_count_that_is_none_and_an_instant_that_is_none_cost_nothing_beside_them():
    counted = task("numRecordsIn", [[10, "1.5"], [20, "7"], [1e300, "8"], [-5, "9"]])
    late = task("currentInputWatermark", [[10, "0.25"], [20, "3"]])
    rows = [
        row for _, row in Subtasks(series(matrix(counted, late))).rows(JOB, with_placement=True)
    ]
    assert [(row.records_in, row.watermark_ms) for row in rows] == [(None, None), ((7,), (3,))]
    odd = {
        "metric": {"__name__": "flink_jobmanager_job_numRestarts", "job_id": JOB},
        "values": [[10, "0.5"]],
    }
    assert [job.restarts for _, job in jobs(series(matrix(odd)))] == [None]
