"""Where a task ran: learnt from deploy lines, also of earlier runs, and joined to lines that name only its id; with Spark and without."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest.flink_logs.event_parser import event_of
from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.files import records_of
from ingest.flink_logs.task_locations import located
from spark_jobs.schemas import lake_schema, spark_schema
from spark_jobs.small import events as small_events
from spark_jobs.small import executions as small_executions
from spark_jobs.small.rows import Row
from spark_jobs.step_schemas import EXECUTION
from spark_jobs.transforms.executions import executions, locate, locate_by_process, of_taskmanagers
from spark_jobs.transforms.log_events import recognised

JOB, OTHER = "26eb676de8b3e133f9078fabe3704eb6", "11111111111111111111111111111111"
GRAPH, VERTEX = "a932b3badd0047fc56bb20dcdd6164f3", "9c32e3838cee893dbb2fc90ccad79598"
NEW = f"{GRAPH}_{VERTEX}_1_0"
OLD = "b932b3badd0047fc56bb20dcdd6164f4"
AT_TM = "tm-1:4-d1 @ host-1 (dataPort=44467)"
DEPLOY_NEW = f"Deploying enrich (2/4) (attempt #0) with attempt id {NEW} and vertex id {VERTEX}_1 to {AT_TM} with allocation id {JOB}"
DEPLOY_1_12 = f"Deploying enrich (2/4) (attempt #3) with attempt id {OLD} to {AT_TM} with allocation id {JOB}"
START = datetime(2026, 11, 21, 4, tzinfo=UTC)


def log(*messages: str) -> bytes:
    return b"".join(
        f"{START + timedelta(milliseconds=number):%Y-%m-%d %H:%M:%S},{number:03d} INFO  a.B [] - {message}\n".encode()
        for number, message in enumerate(messages)
    )


def log_records(*messages: str, file: str = "jm.log") -> list[dict[str, Any]]:
    base: dict[str, Any] = {"cluster": "c", "observed_at": START, "source": "log", "commit_seq": 1, "date": START.date()}
    return [
        {**base, **{name: getattr(record, name) for name in record.__dataclass_fields__}}
        for record in records_of(log(*messages), file=file)
    ]


class BySpark:
    """Frames in and out."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def told(self, *messages: str) -> DataFrame:
        names = lake_schema("log_records").names
        frame = self.spark.createDataFrame(
            [tuple(row[name] for name in names) for row in log_records(*messages)], lake_schema("log_records")
        )
        # Held, as a cycle holds what it stages: with each question the lines would be read anew, several times over.
        return self.spark.createDataFrame(recognised(frame).frame().toArrow())

    def executions(self, told: DataFrame, carried: Sequence[Row] = ()) -> list[Row]:
        return [row.asDict() for row in executions(told, self._carried(carried)).collect()]

    def located(self, told: DataFrame, carried: Sequence[Row] = ()) -> list[Row]:
        known = executions(told, self._carried(carried))
        return [row.asDict() for row in locate_by_process(locate(told, known), known).collect()]

    def of_taskmanagers(self, told: DataFrame, carried: Sequence[Row] = ()) -> list[Row]:
        return [row.asDict() for row in of_taskmanagers(told, executions(told, self._carried(carried))).collect()]

    def _carried(self, rows: Sequence[Row]) -> DataFrame:
        return self.spark.createDataFrame([tuple(row[name] for name in EXECUTION.names) for row in rows], spark_schema(EXECUTION))


class ByPython:
    """Plain rows in and out."""

    def told(self, *messages: str) -> list[Row]:
        return small_events.recognised(pa.Table.from_pylist(log_records(*messages)))

    def executions(self, told: list[Row], carried: Sequence[Row] = ()) -> list[Row]:
        return small_executions.executions(told, carried)

    def located(self, told: list[Row], carried: Sequence[Row] = ()) -> list[Row]:
        known = self.executions(told, carried)
        return small_executions.locate_by_process(small_executions.locate(told, known), known)

    def of_taskmanagers(self, told: list[Row], carried: Sequence[Row] = ()) -> list[Row]:
        return small_executions.of_taskmanagers(told, self.executions(told, carried))


@pytest.fixture(params=["Spark", "Python"])
def by(request: pytest.FixtureRequest) -> BySpark | ByPython:
    return BySpark(request.getfixturevalue("spark")) if request.param == "Spark" else ByPython()


def where(events: list[Row], kind: str) -> tuple[Any, ...]:
    names = ("job_id", "vertex_id", "task", "subtask", "attempt", "container", "host")
    return next((tuple(event[name] for name in names) for event in events if event["kind"] == kind), ())


def decline(execution: str) -> str:
    return f"Decline checkpoint 9 by task {execution} of job {JOB} at {AT_TM}."


def test_a_decline_is_joined_to_its_deploy_line(by: BySpark | ByPython) -> None:
    told = by.told(DEPLOY_1_12, decline(OLD))
    assert where(by.located(told), "checkpoint_declined") == (JOB, None, "enrich", 1, 3, "tm-1:4-d1", "host-1")


def test_the_deploy_line_may_have_come_in_an_earlier_run(by: BySpark | ByPython) -> None:
    before = by.executions(by.told(DEPLOY_NEW))
    now = by.told(f"Received late message for now expired checkpoint attempt 4 from task {NEW} of job {JOB} at {AT_TM}.")
    assert where(by.located(now, before), "late_message") == (JOB, VERTEX, "enrich", 1, 0, "tm-1:4-d1", "host-1")


def test_before_1_12_the_first_deploy_line_after_the_attempt_appeared_is_meant(by: BySpark | ByPython) -> None:
    messages = (
        f"enrich (2/4) ({OTHER}) switched from CREATED to SCHEDULED.",
        "Deploying enrich (2/4) (attempt #0) to tm-9 @ host-9 (dataPort=1)",
        f"enrich (2/4) ({OLD}) switched from CREATED to SCHEDULED.",
        "Deploying enrich (2/4) (attempt #1) to tm-1 @ host-1 (dataPort=1)",
        f"enrich (2/4) ({OLD}) switched from DEPLOYING to RUNNING.",
    )
    (found,) = [row for row in by.executions(by.told(*messages)) if row["execution_id"] == OLD]
    assert (found["attempt"], found["container"], found["host"]) == (1, "tm-1", "host-1")


def test_a_task_line_learns_its_job_from_the_graph_it_belongs_to(by: BySpark | ByPython) -> None:
    created = f"Created execution graph {GRAPH} for job {JOB}."
    other = f"Stopping checkpoint coordinator for job {OTHER}."
    told = by.told(created, other, DEPLOY_NEW, f"enrich (2/4) ({NEW}) switched from RUNNING to FAILED on {AT_TM}.")
    assert where(by.located(told), "task_state")[0] == JOB


def test_a_log_that_tells_of_one_job_only_is_that_jobs(by: BySpark | ByPython) -> None:
    told = by.told(f"Stopping checkpoint coordinator for job {JOB}.", f"enrich (2/4) ({OLD}) switched from RUNNING to FAILED on {AT_TM}.")
    assert where(by.located(told), "task_state")[0] == JOB


def test_a_line_that_names_only_task_and_attempt_means_the_one_of_that_name_deployed_last_before_it(by: BySpark | ByPython) -> None:
    writes = "enrich (2/4)#0 - started executing asynchronous part of checkpoint 7. Asynchronous start delay: 2 ms"
    later = DEPLOY_NEW.replace(JOB, OTHER).replace(GRAPH, OLD)
    for messages, job_id in (((writes, DEPLOY_NEW), None), ((DEPLOY_NEW, writes, later), JOB), ((DEPLOY_NEW, later, writes), OTHER)):
        graphs = (f"Created execution graph {GRAPH} for job {JOB}.", f"Created execution graph {OLD} for job {OTHER}.")
        told = by.told(*graphs, *messages)
        found = where(by.located(told), "checkpoint_async_started")
        assert found[0] == job_id
        assert found[1:5] == (VERTEX if job_id else None, "enrich", 1, 0)


def test_a_line_of_a_taskmanager_that_names_no_task_is_of_the_one_job_that_runs_there(by: BySpark | ByPython) -> None:
    warned = "Transaction a1 has been open for 7 ms. This is close to or even exceeding the transaction timeout of 9 ms."
    received = f"Received task enrich (2/4)#0 ({NEW}), deploy into slot with allocation id {JOB}."
    of_other = received.replace(GRAPH, OLD)
    graphs = (f"Created execution graph {GRAPH} for job {JOB}.", f"Created execution graph {OLD} for job {OTHER}.")
    for messages, job_id in (((received, warned), JOB), ((received, warned, of_other), JOB), ((received, of_other, warned), None),
                             ((DEPLOY_NEW, warned), None)):  # fmt: skip
        (found,) = [row for row in by.located(by.told(*graphs, *messages)) if row["kind"] == "transaction_open"]
        assert (found["job_id"], found["duration_ms"], found["timeout_ms"]) == (job_id, 7, 9)
    before = by.executions(by.told(*graphs, received))
    (later,) = by.located(by.told(warned.replace(" 7 ms", " 8 ms")), [row | {"deployed_at": START} for row in before])
    assert (later["job_id"], later["duration_ms"]) == (JOB, 8)


def test_the_newest_attempt_of_a_subtask_outlives_the_others(by: BySpark | ByPython) -> None:
    def ran(execution: str, days_ago: int) -> Row:
        values = ("c", JOB, execution, VERTEX, "enrich", 1, 0, "tm", "host", START - timedelta(days=days_ago), None)
        return dict(zip(EXECUTION.names, values, strict=True))

    carried = [ran("old", 60), ran("newest", 50)]
    now = by.told(DEPLOY_NEW.replace("(2/4)", "(3/4)").replace(f"{VERTEX}_1", f"{VERTEX}_2"))
    assert {row["execution_id"] for row in by.executions(now, carried)} == {"newest", NEW.replace("_1_0", "_2_0")}


def test_python_joins_the_same_way() -> None:
    messages = (DEPLOY_1_12, decline(OLD))
    found: list[LogEvent] = [event for record in records_of(log(*messages), file="jm.log") if (event := event_of(record))]
    event = list(located(found))[-1]
    assert (event.task, event.subtask, event.attempt, event.host) == ("enrich", 1, 3, "host-1")


def test_serving_rows_tell_a_change_of_state_as_their_reason(by: BySpark | ByPython) -> None:
    told = by.told(f"enrich (2/4) ({NEW}) switched from DEPLOYING to RUNNING.")
    (row,) = by.located(told)
    assert (row["served_reason"], row["task"], row["subtask"]) == ("DEPLOYING -> RUNNING", "enrich", 1)


GONE = "TaskManager with id tm-1:4-d1 is no longer reachable."
GRAPHS = (f"Created execution graph {GRAPH} for job {JOB}.", f"Created execution graph {OLD} for job {OTHER}.")
DEPLOY_OTHER = DEPLOY_NEW.replace(GRAPH, OLD)


def jobs_told(lines: list[Row]) -> list[tuple[str, str, str]]:
    return sorted((line["job_id"], line["kind"], line["container"]) for line in lines)


def test_a_line_about_a_lost_taskmanager_is_brought_to_each_job_that_ran_there(by: BySpark | ByPython) -> None:
    elsewhere = "TaskManager with id tm-2:4-d1 is no longer reachable."
    told = by.told(*GRAPHS, DEPLOY_NEW, DEPLOY_OTHER, GONE, elsewhere)
    assert jobs_told(by.of_taskmanagers(told)) == [(OTHER, "tm_unreachable", "tm-1:4-d1"), (JOB, "tm_unreachable", "tm-1:4-d1")]


def test_a_taskmanager_that_was_lost_before_the_task_came_to_it_is_none_of_the_jobs(by: BySpark | ByPython) -> None:
    assert by.of_taskmanagers(by.told(*GRAPHS, GONE, DEPLOY_NEW)) == []


def test_the_lost_taskmanager_of_a_task_that_was_deployed_elsewhere_since_counts_for_minutes(by: BySpark | ByPython) -> None:
    """Heartbeats time out after the restart; what happens hours after the task left is another matter."""
    moved = DEPLOY_NEW.replace(f"{VERTEX}_1_0", f"{VERTEX}_1_1").replace("tm-1:4-d1", "tm-2:4-d1")
    carried = by.executions(by.told(*GRAPHS, DEPLOY_NEW, moved))
    assert len(by.of_taskmanagers(by.told(GONE, "Stopping"), carried)) == 0  # dated before both were deployed
    for hours, count in ((0, 1), (2, 0)):
        earlier = [{**row, "deployed_at": row["deployed_at"] - timedelta(hours=hours, milliseconds=500)} for row in carried]
        assert len(by.of_taskmanagers(by.told(GONE), earlier)) == count
