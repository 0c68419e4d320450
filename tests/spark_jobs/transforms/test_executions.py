"""Where a task ran: learnt from deploy lines, also of earlier runs, and joined to lines that name only its id."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.files import records_of
from ingest.flink_logs.locating import located
from ingest.flink_logs.recognise import event_of
from spark_jobs.schemas import lake_schema
from spark_jobs.transforms.executions import EXECUTION_SCHEMA, executions, locate
from spark_jobs.transforms.log_events import recognised, with_served

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


def rows(spark: SparkSession, *messages: str, file: str = "jm.log") -> DataFrame:
    base: dict[str, Any] = {"cluster": "c", "observed_at": START, "source": "log", "commit_seq": 1, "date": START.date()}
    names = lake_schema("log_records").names
    read = [
        {**base, **{name: getattr(record, name) for name in record.__dataclass_fields__}}
        for record in records_of(log(*messages), file=file)
    ]
    return recognised(spark.createDataFrame([tuple(row[name] for name in names) for row in read], lake_schema("log_records")))


def none(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], EXECUTION_SCHEMA)


def where(frame: DataFrame, kind: str) -> tuple[Any, ...]:
    row = frame.where(F.col("kind") == kind).select("job_id", "vertex_id", "task", "subtask", "attempt", "container", "host").first()
    return tuple(row) if row else ()


def decline(execution: str) -> str:
    return f"Decline checkpoint 9 by task {execution} of job {JOB} at {AT_TM}."


def test_a_decline_is_joined_to_its_deploy_line(spark: SparkSession) -> None:
    told = rows(spark, DEPLOY_1_12, decline(OLD))
    assert where(locate(told, executions(told, none(spark))), "checkpoint_declined") == (JOB, None, "enrich", 1, 3, "tm-1:4-d1", "host-1")


def test_the_deploy_line_may_have_come_in_an_earlier_run(spark: SparkSession) -> None:
    before = executions(rows(spark, DEPLOY_NEW), none(spark))
    now = rows(spark, f"Received late message for now expired checkpoint attempt 4 from task {NEW} of job {JOB} at {AT_TM}.")
    assert where(locate(now, executions(now, before)), "late_message") == (JOB, VERTEX, "enrich", 1, 0, "tm-1:4-d1", "host-1")


def test_before_1_12_the_first_deploy_line_after_the_attempt_appeared_is_meant(spark: SparkSession) -> None:
    messages = (
        f"enrich (2/4) ({OTHER}) switched from CREATED to SCHEDULED.",
        "Deploying enrich (2/4) (attempt #0) to tm-9 @ host-9 (dataPort=1)",
        f"enrich (2/4) ({OLD}) switched from CREATED to SCHEDULED.",
        "Deploying enrich (2/4) (attempt #1) to tm-1 @ host-1 (dataPort=1)",
        f"enrich (2/4) ({OLD}) switched from DEPLOYING to RUNNING.",
    )
    told = rows(spark, *messages)
    found = executions(told, none(spark)).where(F.col("execution_id") == OLD).first()
    assert found is not None
    assert (found.attempt, found.container, found.host) == (1, "tm-1", "host-1")


def test_a_task_line_learns_its_job_from_the_graph_it_belongs_to(spark: SparkSession) -> None:
    created = f"Created execution graph {GRAPH} for job {JOB}."
    other = f"Stopping checkpoint coordinator for job {OTHER}."
    told = rows(spark, created, other, DEPLOY_NEW, f"enrich (2/4) ({NEW}) switched from RUNNING to FAILED on {AT_TM}.")
    assert where(locate(told, executions(told, none(spark))), "task_state")[0] == JOB


def test_a_log_that_tells_of_one_job_only_is_that_jobs(spark: SparkSession) -> None:
    told = rows(
        spark, f"Stopping checkpoint coordinator for job {JOB}.", f"enrich (2/4) ({OLD}) switched from RUNNING to FAILED on {AT_TM}."
    )
    assert where(locate(told, executions(told, none(spark))), "task_state")[0] == JOB


def test_a_line_that_names_only_task_and_attempt_means_the_one_of_that_name_deployed_last_before_it(spark: SparkSession) -> None:
    writes = "enrich (2/4)#0 - started executing asynchronous part of checkpoint 7. Asynchronous start delay: 2 ms"
    later = DEPLOY_NEW.replace(JOB, OTHER).replace(GRAPH, OLD)
    for messages, job_id in (((writes, DEPLOY_NEW), None), ((DEPLOY_NEW, writes, later), JOB), ((DEPLOY_NEW, later, writes), OTHER)):
        graphs = (f"Created execution graph {GRAPH} for job {JOB}.", f"Created execution graph {OLD} for job {OTHER}.")
        told = rows(spark, *graphs, *messages)
        found = where(locate(told, executions(told, none(spark))), "checkpoint_async_started")
        assert found[0] == job_id
        assert found[1:5] == (VERTEX if job_id else None, "enrich", 1, 0)


def test_the_newest_attempt_of_a_subtask_outlives_the_others(spark: SparkSession) -> None:
    def ran(execution: str, days_ago: int) -> tuple[Any, ...]:
        return ("c", JOB, execution, VERTEX, "enrich", 1, 0, "tm", "host", START - timedelta(days=days_ago))

    carried = spark.createDataFrame([ran("old", 60), ran("newest", 50)], EXECUTION_SCHEMA)
    now = rows(spark, DEPLOY_NEW.replace("(2/4)", "(3/4)").replace(f"{VERTEX}_1", f"{VERTEX}_2"))
    assert {row.execution_id for row in executions(now, carried).collect()} == {"newest", NEW.replace("_1_0", "_2_0")}


def test_python_joins_the_same_way() -> None:
    messages = (DEPLOY_1_12, decline(OLD))
    found: list[LogEvent] = [event for record in records_of(log(*messages), file="jm.log") if (event := event_of(record))]
    event = list(located(found))[-1]
    assert (event.task, event.subtask, event.attempt, event.host) == ("enrich", 1, 3, "host-1")


def test_serving_rows_tell_a_change_of_state_as_their_reason(spark: SparkSession) -> None:
    told = rows(spark, f"enrich (2/4) ({NEW}) switched from DEPLOYING to RUNNING.")
    row = with_served(locate(told, executions(told, none(spark)))).first()
    assert row is not None
    assert (row.served_reason, row.task, row.subtask) == ("DEPLOYING -> RUNNING", "enrich", 1)
