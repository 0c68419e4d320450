"""Where a task ran: learnt from deploy lines, also of earlier runs, and joined to lines that name
only its id.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from ingest.flink_logs.events import LogEvent
from spark_jobs.small.tables import map_rows
from spark_jobs.step_schemas import EXECUTION, SERVED_EVENT
from spark_jobs.transforms.event_batches import served_event_batches
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.spark_jobs.located import learnt, lived, located, taskmanager_losses
from tests.task_locations import located as located_of_log

Row = dict[str, Any]

JOB, OTHER = "26eb676de8b3e133f9078fabe3704eb6", "11111111111111111111111111111111"
GRAPH, VERTEX = "a932b3badd0047fc56bb20dcdd6164f3", "9c32e3838cee893dbb2fc90ccad79598"
NEW = f"{GRAPH}_{VERTEX}_1_0"
OLD = "b932b3badd0047fc56bb20dcdd6164f4"
AT_TM = "tm-1:4-d1 @ host-1 (dataPort=44467)"
DEPLOY_NEW = (
    f"Deploying enrich (2/4) (attempt #0) with attempt id {NEW} and vertex id {VERTEX}_1 "
    f"to {AT_TM} with allocation id {JOB}"
)
DEPLOY_1_12 = (
    f"Deploying enrich (2/4) (attempt #3) with attempt id {OLD} to {AT_TM} with allocation id {JOB}"
)
START = datetime(2026, 11, 21, 4, tzinfo=UTC)


def log(*messages: str) -> bytes:
    return b"".join(
        (
            f"{START + timedelta(milliseconds=number):%Y-%m-%d %H:%M:%S},{number:03d} INFO  a.B [] "
            "- "
            f"{message}\n"
        ).encode()
        for number, message in enumerate(messages)
    )


def log_records(*messages: str, file: str = "jm.log") -> list[dict[str, Any]]:
    base: dict[str, Any] = {
        "cluster": "c",
        "observed_at": START,
        "source": "log",
        "commit_seq": 1,
        "date": START.date(),
    }
    return [
        {**base, **{name: getattr(record, name) for name in record.__dataclass_fields__}}
        for record in records_of(log(*messages), file=file)
    ]


def told(*messages: str) -> pa.Table:
    return map_rows(
        pa.Table.from_pylist(log_records(*messages)), served_event_batches, SERVED_EVENT
    )


def carried(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, EXECUTION)


def rows_of(table: pa.Table) -> list[Row]:
    rows: list[Row] = table.to_pylist()
    return rows


def where(events: list[Row], kind: str) -> tuple[Any, ...]:
    names = ("job_id", "vertex_id", "task", "subtask", "attempt", "container", "host")
    return next(
        (tuple(event[name] for name in names) for event in events if event["kind"] == kind), ()
    )


def decline(execution: str) -> str:
    return f"Decline checkpoint 9 by task {execution} of job {JOB} at {AT_TM}."


def test_a_decline_is_joined_to_its_deploy_line() -> None:
    events = told(DEPLOY_1_12, decline(OLD))
    assert where(rows_of(located(events)), "checkpoint_declined") == (
        JOB,
        None,
        "enrich",
        1,
        3,
        "tm-1:4-d1",
        "host-1",
    )


def test_the_deploy_line_may_have_come_in_an_earlier_run() -> None:
    before = learnt(told(DEPLOY_NEW))
    now = told(
        f"Received late message for now expired checkpoint attempt 4 from task {NEW} of job {JOB} "
        f"at {AT_TM}."
    )
    assert where(rows_of(located(now, before)), "late_message") == (
        JOB,
        VERTEX,
        "enrich",
        1,
        0,
        "tm-1:4-d1",
        "host-1",
    )


def test_a_task_line_learns_its_job_from_the_graph_it_belongs_to() -> None:
    created = f"Created execution graph {GRAPH} for job {JOB}."
    other = f"Stopping checkpoint coordinator for job {OTHER}."
    events = told(
        created,
        other,
        DEPLOY_NEW,
        f"enrich (2/4) ({NEW}) switched from RUNNING to FAILED on {AT_TM}.",
    )
    assert where(rows_of(located(events)), "task_state")[0] == JOB


def test_a_log_that_tells_of_one_job_only_is_that_jobs() -> None:
    events = told(
        f"Stopping checkpoint coordinator for job {JOB}.",
        f"enrich (2/4) ({OLD}) switched from RUNNING to FAILED on {AT_TM}.",
    )
    assert where(rows_of(located(events)), "task_state")[0] == JOB


def test_a_line_that_names_only_task_and_attempt_means_the_one_of_that_name_deployed_last_before_it() -> (
    None
):
    writes = (
        "enrich (2/4)#0 - started executing asynchronous part of checkpoint 7. Asynchronous "
        "start delay: 2 ms"
    )
    later = DEPLOY_NEW.replace(JOB, OTHER).replace(GRAPH, OLD)
    for messages, job_id in (
        ((writes, DEPLOY_NEW), None),
        ((DEPLOY_NEW, writes, later), JOB),
        ((DEPLOY_NEW, later, writes), OTHER),
    ):
        graphs = (
            f"Created execution graph {GRAPH} for job {JOB}.",
            f"Created execution graph {OLD} for job {OTHER}.",
        )
        events = told(*graphs, *messages)
        found = where(rows_of(located(events)), "checkpoint_async_started")
        assert found[0] == job_id
        assert found[1:5] == (VERTEX if job_id else None, "enrich", 1, 0)


def test_a_line_of_a_taskmanager_that_names_no_task_is_of_the_one_job_that_runs_there() -> None:
    warned = (
        "Transaction a1 has been open for 7 ms. This is close to or even exceeding the "
        "transaction timeout of 9 ms."
    )
    received = f"Received task enrich (2/4)#0 ({NEW}), deploy into slot with allocation id {JOB}."
    of_other = received.replace(GRAPH, OLD)
    graphs = (
        f"Created execution graph {GRAPH} for job {JOB}.",
        f"Created execution graph {OLD} for job {OTHER}.",
    )
    for messages, job_id in (
        ((received, warned), JOB),
        ((received, warned, of_other), JOB),
        ((received, of_other, warned), None),
        ((DEPLOY_NEW, warned), None),
    ):
        (found,) = [
            row
            for row in rows_of(located(told(*graphs, *messages)))
            if row["kind"] == "transaction_open"
        ]
        assert (found["job_id"], found["duration_ms"], found["timeout_ms"]) == (job_id, 7, 9)
    before = carried(
        [row | {"deployed_at": START} for row in rows_of(learnt(told(*graphs, received)))]
    )
    (later,) = rows_of(located(told(warned.replace(" 7 ms", " 8 ms")), before))
    assert (later["job_id"], later["duration_ms"]) == (JOB, 8)


def test_the_newest_attempt_of_a_subtask_outlives_the_others() -> None:
    def ran(execution: str, days_ago: int) -> Row:
        values = (
            "c",
            JOB,
            execution,
            VERTEX,
            "enrich",
            1,
            0,
            "tm",
            "host",
            START - timedelta(days=days_ago),
            None,
        )
        return dict(zip(EXECUTION.names, values, strict=True))

    before = carried([ran("old", 60), ran("newest", 50)])
    now = told(DEPLOY_NEW.replace("(2/4)", "(3/4)").replace(f"{VERTEX}_1", f"{VERTEX}_2"))
    assert {row["execution_id"] for row in rows_of(learnt(now, before))} == {
        "newest",
        NEW.replace("_1_0", "_2_0"),
    }


def test_python_joins_the_same_way() -> None:
    messages = (DEPLOY_1_12, decline(OLD))
    found: list[LogEvent] = [
        event for record in records_of(log(*messages), file="jm.log") if (event := event_of(record))
    ]
    event = list(located_of_log(found))[-1]
    assert (event.task, event.subtask, event.attempt, event.host) == ("enrich", 1, 3, "host-1")


def test_serving_rows_tell_a_change_of_state_as_their_reason() -> None:
    events = told(f"enrich (2/4) ({NEW}) switched from DEPLOYING to RUNNING.")
    (row,) = rows_of(located(events))
    assert (row["served_reason"], row["task"], row["subtask"]) == (
        "DEPLOYING -> RUNNING",
        "enrich",
        1,
    )


GONE = "TaskManager with id tm-1:4-d1 is no longer reachable."
GRAPHS = (
    f"Created execution graph {GRAPH} for job {JOB}.",
    f"Created execution graph {OLD} for job {OTHER}.",
)
DEPLOY_OTHER = DEPLOY_NEW.replace(GRAPH, OLD)


def jobs_told(lines: list[Row]) -> list[tuple[str, str, str]]:
    return sorted((line["job_id"], line["ended_by"], line["taskmanager_id"]) for line in lines)


def test_a_lost_taskmanager_is_brought_to_each_job_that_ran_there() -> None:
    elsewhere = "TaskManager with id tm-2:4-d1 is no longer reachable."
    events = told(*GRAPHS, DEPLOY_NEW, DEPLOY_OTHER, GONE, elsewhere)
    assert jobs_told(rows_of(taskmanager_losses(events))) == [
        (OTHER, "unreachable", "tm-1:4-d1"),
        (JOB, "unreachable", "tm-1:4-d1"),
    ]


def test_a_taskmanager_that_was_lost_before_the_task_came_to_it_is_none_of_the_jobs() -> None:
    assert taskmanager_losses(told(*GRAPHS, GONE, DEPLOY_NEW)).num_rows == 0


def test_the_lost_taskmanager_of_a_task_that_was_deployed_elsewhere_since_counts_for_minutes() -> (
    None
):
    """Heartbeats time out after the restart; what happens hours after the task left is another
    matter.
    """
    moved = DEPLOY_NEW.replace(f"{VERTEX}_1_0", f"{VERTEX}_1_1").replace("tm-1:4-d1", "tm-2:4-d1")
    before = learnt(told(*GRAPHS, DEPLOY_NEW, moved))
    assert (
        taskmanager_losses(told(GONE, "Stopping"), before).num_rows == 0
    )  # dated before both were deployed
    for hours, count in ((0, 1), (2, 0)):
        earlier = [
            {**row, "deployed_at": row["deployed_at"] - timedelta(hours=hours, milliseconds=500)}
            for row in rows_of(before)
        ]
        assert taskmanager_losses(told(GONE), carried(earlier)).num_rows == count


def test_a_loss_that_was_brought_is_brought_to_another_job_alone_once_its_tasks_are_known() -> None:
    first = lived(told(*GRAPHS, DEPLOY_NEW, GONE))
    assert [row["to_inform"] for row in rows_of(first)] == [[JOB]]
    again = lived(told(*GRAPHS, DEPLOY_NEW, GONE), known=first)
    assert [(row["to_inform"], row["changed"]) for row in rows_of(again)] == [([], False)]
    both = lived(told(*GRAPHS, DEPLOY_NEW, DEPLOY_OTHER), known=first)
    assert [row["to_inform"] for row in rows_of(both)] == [[OTHER]]
