"""Checkpoint facts from hand-made rows: one rule a test."""

from collections.abc import Iterable
from typing import Any

import pytest

from spark_jobs.fold.checkpoint_facts import JobSurroundings, checkpoint_facts
from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.fold.checkpoint_rows import CheckpointRows
from spark_jobs.fold.full_sizes import FullSizes
from spark_jobs.fold.triggers import anchored, known_triggers
from tests.fold.rows import JOB, VERTEX, Row, events, lake, noon, only, serving


def facts(
    rest: Iterable[Row] = (),
    vertices: Iterable[Row] = (),
    log: Iterable[Row] = (),
    jobs: Iterable[Row] = (),
    hosts: Iterable[Row] = (),
    exceptions: Iterable[Row] = (),
    snapshots: Iterable[Row] = (),
) -> list[dict[str, Any]]:
    """What REST and the log said → the facts of it."""
    default = {"checkpoint_id": 1, "trigger_time": noon()}
    lines = events([{"checkpoint_id": 1} | dict(row) for row in log])
    placements = [{"vertex_id": VERTEX, "attempt": None} | dict(row) for row in hosts]
    job = JobSurroundings.of(
        lake("jobs", jobs), lines, placements, serving("job_exception", exceptions)
    )
    rows = CheckpointRows(
        lake("checkpoints", [default | dict(row) for row in rest]),
        lake(
            "vertex_checkpoints", [default | {"vertex_id": VERTEX} | dict(row) for row in vertices]
        ),
        [line for line in lines if line["kind"] in KINDS_OF_CHECKPOINT],
    )
    known = known_triggers(rows.checkpoints, rows.vertex_checkpoints, rows.lines)
    return list(
        checkpoint_facts(
            rows, anchored(rows.lines, known), job, FullSizes(JOB, snapshots, known)
        ).values()
    )


TRIGGERED: dict[str, Any] = {
    "kind": "checkpoint_triggered",
    "ts": noon(0.01),
    "trigger_time": noon(),
}
IN_PROGRESS: dict[str, Any] = {"status": "IN_PROGRESS", "observed_at": noon(1)}


def failed(message: str | None, at: float = 5) -> dict[str, Any]:
    return {
        "status": "FAILED",
        "failure_message": message,
        "failure_time": noon(at),
        "observed_at": noon(at + 1),
    }


OUTCOMES_OF_MESSAGES = [
    ("Checkpoint expired before completing.", "expired", "CHECKPOINT_EXPIRED"),
    ("Asynchronous task checkpoint failed.", "declined", "CHECKPOINT_ASYNC_EXCEPTION"),
    ("Checkpoint was declined (tasks not ready)", "declined", "CHECKPOINT_DECLINED_TASK_NOT_READY"),
    ("Task local checkpoint failure.", "declined", "TASK_CHECKPOINT_FAILURE"),
    ("Checkpoint has been subsumed.", "subsumed", "CHECKPOINT_SUBSUMED"),
    ("Checkpoint Coordinator is suspending.", "aborted", "CHECKPOINT_COORDINATOR_SUSPEND"),
    ("CheckpointCoordinator shutdown.", "aborted", "CHECKPOINT_COORDINATOR_SHUTDOWN"),
    ("FailoverRegion is restarting.", "failed", "JOB_FAILOVER_REGION"),
    ("Task has failed.", "failed", "TASK_FAILURE"),
    ("Failure to finalize checkpoint.", "failed", "FINALIZE_CHECKPOINT_FAILURE"),
    (
        "An Exception occurred while triggering the checkpoint. IO-problem detected.",
        "failed",
        "IO_EXCEPTION",
    ),
    (
        "Not all required tasks are currently running.",
        "preflight",
        "NOT_ALL_REQUIRED_TASKS_RUNNING",
    ),
    ("Something of a Flink to come", "failed", None),
    (None, "failed", None),
]


def test_a_failure_message_becomes_outcome_and_reason() -> None:
    rest = [
        failed(message) | {"checkpoint_id": number}
        for number, (message, _, _) in enumerate(OUTCOMES_OF_MESSAGES)
    ]
    rows = sorted(facts(rest=rest), key=lambda row: row["checkpoint_id"])
    assert [
        (row["reason_text"], row["outcome"], row["reason"]) for row in rows
    ] == OUTCOMES_OF_MESSAGES
    assert all(row["final"] for row in rows)


def test_a_final_sight_wins_over_a_later_reading_that_found_it_in_progress() -> None:
    done = {
        "status": "COMPLETED",
        "state_bytes": 10,
        "checkpointed_bytes": 4,
        "end_to_end_ms": 900,
        "observed_at": noon(2),
    }
    fact = only(facts(rest=[done, IN_PROGRESS | {"observed_at": noon(60), "state_bytes": 3}]))
    assert (fact["outcome"], fact["state_bytes"], fact["end_time"]) == ("completed", 10, noon(0.9))


def test_the_same_rows_again_change_nothing() -> None:
    rest = [IN_PROGRESS, failed("Checkpoint expired before completing.")]
    late = {"kind": "late_message", "ts": noon(7), "record_hash": "b", "offset": 9}
    log = [TRIGGERED, {"kind": "checkpoint_expired", "ts": noon(5), "record_hash": "a"}, late]
    assert facts(rest=rest * 3, log=log * 3) == facts(rest=rest, log=log)


def test_a_checkpoint_that_only_the_log_knows_has_size_and_duration_of_its_line() -> None:
    fact = only(
        facts(
            log=[
                TRIGGERED,
                {
                    "kind": "checkpoint_completed",
                    "ts": noon(1),
                    "state_bytes": 77,
                    "duration_ms": 950,
                },
            ]
        )
    )
    assert (
        fact["outcome"],
        fact["state_bytes"],
        fact["end_to_end_ms"],
        fact["checkpointed_bytes"],
    ) == ("completed", 77, 950, None)
    assert fact["sources"] == "log"


def test_both_sources_are_named_where_both_told() -> None:
    assert only(facts(rest=[IN_PROGRESS], log=[TRIGGERED]))["sources"] == "rest+log"


SPAN: dict[str, Any] = {"kind": "checkpoint_reported", "ts": noon(3), "trigger_time": noon()}


def test_a_failed_span_has_the_reason_and_the_end_that_another_source_has() -> None:
    lost = SPAN | {"to_state": "FAILED"}
    alone = only(facts(log=[lost]))
    assert (alone["outcome"], alone["reason"], alone["end_time"]) == ("failed", None, None)
    expired = {"kind": "checkpoint_expired", "ts": noon(60), "reason": "CHECKPOINT_EXPIRED"}
    assert only(facts(log=[lost, TRIGGERED, expired]))["end_time"] == noon(60)
    declined = only(facts(rest=[failed("Task local checkpoint failure.")], log=[lost]))
    assert (declined["outcome"], declined["end_time"]) == ("declined", noon(5))


def test_a_span_is_no_completion_of_a_checkpoint_that_rest_has_as_failed() -> None:
    fact = only(facts(rest=[failed(None)], log=[SPAN | {"to_state": "COMPLETED"}]))
    assert fact["outcome"] == "failed"


def test_a_span_tells_whether_a_checkpoint_completed_of_a_job_that_is_listed_no_more() -> None:
    gone = [{"state": "NOT_LISTED", "observed_at": noon(100)}]
    for state, outcome in (("FAILED", "failed"), ("COMPLETED", "completed")):
        fact = only(facts(rest=[IN_PROGRESS], log=[SPAN | {"to_state": state}], jobs=gone))
        assert fact["outcome"] == outcome


def test_an_event_of_a_checkpoint_goes_to_the_trigger_that_a_span_has() -> None:
    event = {"kind": "checkpoint_reported", "ts": noon(3), "checkpoint_type": "Full Checkpoint"}
    fact = only(facts(log=[SPAN | {"to_state": "COMPLETED"}, event | {"to_state": "COMPLETED"}]))
    assert (fact["trigger_time"], fact["checkpoint_type"]) == (noon(), "Full Checkpoint")


def test_an_id_that_repeats_is_two_checkpoints_and_lines_go_to_the_nearest_earlier_trigger() -> (
    None
):
    log = [
        TRIGGERED,
        {"kind": "checkpoint_expired", "ts": noon(5)},
        TRIGGERED | {"ts": noon(1000), "trigger_time": noon(1000)},
        {"kind": "checkpoint_completed", "ts": noon(1002), "state_bytes": 5, "duration_ms": 10},
    ]
    rows = sorted(facts(log=log), key=lambda row: row["trigger_time"])
    assert [row["outcome"] for row in rows] == ["expired", "completed"]


def test_lines_find_their_trigger_although_the_logs_time_zone_is_declared_wrongly() -> None:
    hour = 8 * 3_600_000
    log = [TRIGGERED | {"ts": noon() - hour}, {"kind": "checkpoint_expired", "ts": noon(5) - hour}]
    assert only(facts(log=log))["outcome"] == "expired"


def test_a_log_that_begins_in_mid_checkpoint_still_has_it_once() -> None:
    completed = {
        "kind": "checkpoint_completed",
        "ts": noon(3),
        "state_bytes": 5,
        "duration_ms": 3000,
    }
    fact = only(facts(log=[completed, {"kind": "late_message", "ts": noon(4)}]))
    assert (fact["trigger_time"], fact["outcome"], fact["late_message_count"]) == (
        noon(),
        "completed",
        1,
    )


def test_a_decline_says_who_where_why_and_which_line() -> None:
    detail = (
        "org.apache.flink.util.SerializedThrowable: Asynchronous task checkpoint failed.\n\tat "
        "a.B\n"
        "Caused by: x: y\n\tat c.D\nCaused by: java.io.IOException: disk full\n\t... 3 more"
    )
    decline = {
        "kind": "checkpoint_declined",
        "ts": noon(2),
        "execution_id": "e_1",
        "vertex_id": VERTEX,
        "subtask": 1,
        "attempt": 0,
        "container": "tm-1:4",
        "host": "h1",
        "message": ("Decline checkpoint 1 by task e_1\nmore"),
        "detail": detail,
    }
    job = {"state": "RUNNING", "vertices": [(VERTEX, "enrich", 2, None, None)]}
    fact = only(facts(log=[TRIGGERED, decline], jobs=[job]))
    (said,) = fact["declines"]
    assert said == {
        "vertex_id": VERTEX,
        "vertex_name": "enrich",
        "subtask": 1,
        "attempt": 0,
        "execution_id": "e_1",
        "container": "tm-1:4",
        "host": "h1",
        "at": "2026-11-21T12:00:02.000Z",
        "reason": "CHECKPOINT_ASYNC_EXCEPTION",
        "exception": "java.io.IOException: disk full",
        "log_line": "Decline checkpoint 1 by task e_1",
    }
    assert (fact["outcome"], fact["reason"], fact["exception"]) == (
        "declined",
        "CHECKPOINT_ASYNC_EXCEPTION",
        detail,
    )


def test_late_messages_say_by_how_much_they_missed() -> None:
    late = [
        {"kind": "late_message", "ts": noon(5 + n), "subtask": n, "host": "h"} for n in range(1, 60)
    ]
    fact = only(facts(log=[TRIGGERED, {"kind": "checkpoint_expired", "ts": noon(5)}, *late]))
    told = fact["late_messages"]
    assert (fact["late_message_count"], len(told), told[0]["late_ms"], told[-1]["late_ms"]) == (
        59,
        50,
        1000,
        50000,
    )


ARRAYS = {
    "status": "COMPLETED",
    "subtasks": 3,
    "acknowledged": 3,
    "observed_at": noon(9),
    "subtask_ack_time": [noon(1), noon(2), noon(5)],
    "subtask_end_to_end_ms": [1000, 2000, 5000],
    "subtask_start_delay_ms": [10, 900, 20],
    "subtask_alignment_ms": [0, 3, 4000],
    "subtask_sync_ms": [30, 5, 40],
    "subtask_async_ms": [700, 800, 600],
}


def test_phases_are_the_largest_over_subtasks_and_the_slowest_has_its_own() -> None:
    fact = only(
        facts(
            rest=[{"status": "COMPLETED"}],
            vertices=[ARRAYS],
            hosts=[{"ts": noon(-60), "host": ["a", "b", "c"]}],
        )
    )
    assert [fact[f"{phase}_ms"] for phase in ("start_delay", "alignment", "sync", "async")] == [
        900,
        4000,
        40,
        800,
    ]
    assert [
        fact[f"slowest_{phase}_ms"] for phase in ("start_delay", "alignment", "sync", "async")
    ] == [20, 4000, 40, 600]
    assert (fact["slowest_subtask"], fact["slowest_host"], fact["dominant_phase"]) == (
        2,
        "c",
        "alignment",
    )
    assert fact["unaligned"] is None


def test_a_sight_without_subtasks_does_not_take_them_away() -> None:
    bare = {"status": "COMPLETED", "subtasks": 3, "acknowledged": 3, "observed_at": noon(99)}
    assert only(facts(vertices=[ARRAYS, bare]))["slowest_end_to_end_ms"] == 5000


def test_the_host_is_the_one_known_at_the_trigger() -> None:
    hosts = [
        {"ts": noon(-60), "host": ["a"] * 3},
        {"ts": noon(-5), "host": ["b"] * 3},
        {"ts": noon(60), "host": ["c"] * 3},
    ]
    assert only(facts(vertices=[ARRAYS], hosts=hosts))["slowest_host"] == "b"
    assert only(facts(vertices=[ARRAYS], hosts=hosts[2:]))["slowest_host"] == "c"


def test_an_expiry_says_which_subtasks_had_not_acknowledged() -> None:
    acks = [None if n % 2 else noon(1) for n in range(5000)]
    part = {"status": "FAILED", "subtasks": 5000, "acknowledged": 2500, "subtask_ack_time": acks}
    hosts = [{"ts": noon(-1), "host": [f"h{n % 4}" for n in range(5000)]}]
    fact = only(
        facts(rest=[failed("Checkpoint expired before completing.")], vertices=[part], hosts=hosts)
    )
    (missing,) = fact["not_acknowledged"]
    assert (missing["count"], missing["subtasks"], missing["hosts"]) == (
        2500,
        list(range(1, 100, 2)),
        ["h1", "h3"],
    )


def test_where_only_counts_are_known_the_count_is_told() -> None:
    row = failed("Checkpoint expired before completing.") | {"subtasks": 10, "acknowledged": 2}
    assert only(facts(rest=[row]))["not_acknowledged"] == [
        {"vertex_id": None, "vertex_name": None, "subtasks": [], "count": 8, "hosts": []}
    ]


def test_nobody_is_missing_in_a_completed_checkpoint() -> None:
    assert (
        only(
            facts(
                rest=[{"status": "COMPLETED", "subtasks": 3, "acknowledged": 3}], vertices=[ARRAYS]
            )
        )["not_acknowledged"]
        is None
    )


def test_a_stopped_coordinator_aborts_what_was_pending() -> None:
    fact = only(
        facts(
            log=[TRIGGERED, {"kind": "coordinator_stopped", "ts": noon(3), "checkpoint_id": None}]
        )
    )
    assert (fact["outcome"], fact["final"], fact["end_time"]) == ("aborted", True, noon(3))


LEFT: dict[str, Any] = {"kind": "job_state", "ts": noon(3), "checkpoint_id": None}
THREW: dict[str, Any] = {
    "kind": "task_state",
    "to_state": "FAILED",
    "ts": noon(2.9),
    "checkpoint_id": None,
    "task": "enrich",
    "reason_text": ("java.lang.IllegalStateException: no snapshot today"),
    "detail": "java.io.IOException: Could not perform checkpoint 1",
}


@pytest.mark.parametrize("state", ["CANCELLING", "SUSPENDED", "FINISHED", "CANCELED"])
def test_a_job_that_is_ended_on_purpose_aborts_what_was_pending(state: str) -> None:
    assert only(facts(log=[TRIGGERED, LEFT | {"to_state": state}]))["outcome"] == "aborted"


@pytest.mark.parametrize("state", ["RESTARTING", "FAILING", "FAILED"])
def test_what_a_failing_job_drops_has_failed(state: str) -> None:
    fact = only(facts(log=[TRIGGERED, LEFT | {"to_state": state}]))
    assert (fact["outcome"], fact["reason"], fact["end_time"]) == ("failed", "JOB_FAILURE", noon(3))


def test_a_checkpoint_lost_to_a_task_has_its_failure_as_the_reason() -> None:
    suspended = failed("Checkpoint Coordinator is suspending.", at=3.1)
    fact = only(facts(rest=[suspended], log=[TRIGGERED, THREW, LEFT | {"to_state": "RESTARTING"}]))
    assert (fact["outcome"], fact["reason"], fact["reason_text"]) == (
        "failed",
        "TASK_FAILURE",
        THREW["reason_text"],
    )
    assert fact["exception"] == THREW["detail"]
    assert fact["failure_message"] == "Checkpoint Coordinator is suspending."


def test_rest_alone_tells_a_failure_from_a_cancel() -> None:
    suspended = failed("Checkpoint Coordinator is suspending.", at=3)
    exception = {
        "ts": noon(2.9),
        "task_key": "enrich (1/2)",
        "exception_name": "x.Y",
        "stacktrace": "x.Y: a\nCaused by: x.Z: b\n\tat c",
    }
    entered = {
        state: {"state": "RUNNING", "state_since": [(state, noon(3))]}
        for state in ("RESTARTING", "CANCELLING")
    }
    told = only(facts(rest=[suspended], jobs=[entered["RESTARTING"]], exceptions=[exception]))
    assert (told["outcome"], told["reason"], told["reason_text"]) == (
        "failed",
        "TASK_FAILURE",
        "x.Z: b",
    )
    assert only(facts(rest=[suspended], jobs=[entered["CANCELLING"]]))["outcome"] == "aborted"


def test_a_failure_before_the_trigger_or_a_cancel_long_after_one_explains_nothing() -> None:
    before = THREW | {"ts": noon(-1)}
    assert (
        only(facts(log=[before, TRIGGERED, LEFT | {"to_state": "CANCELLING"}]))["outcome"]
        == "aborted"
    )
    cancelled = LEFT | {"ts": noon(20), "to_state": "CANCELLING"}
    assert only(facts(log=[TRIGGERED, THREW, cancelled]))["outcome"] == "aborted"


def test_an_ending_before_the_trigger_aborts_nothing() -> None:
    fact = only(
        facts(
            log=[TRIGGERED, {"kind": "coordinator_stopped", "ts": noon(-3), "checkpoint_id": None}]
        )
    )
    assert (fact["outcome"], fact["final"]) == ("in_progress", False)


def test_an_end_long_after_does_not_judge_what_only_rest_saw_pending() -> None:
    ended = {"state": "FINISHED", "end_time": noon(3600), "checkpoint_timeout_ms": 60_000}
    assert only(facts(rest=[IN_PROGRESS], jobs=[ended]))["outcome"] == "in_progress"
    assert (
        only(facts(rest=[IN_PROGRESS], jobs=[ended | {"end_time": noon(30)}]))["outcome"]
        == "aborted"
    )


def test_a_completion_is_not_undone_by_the_end_of_the_job() -> None:
    log = [
        TRIGGERED,
        {"kind": "checkpoint_completed", "ts": noon(1), "state_bytes": 1, "duration_ms": 9},
    ]
    assert (
        only(
            facts(log=[*log, {"kind": "coordinator_stopped", "ts": noon(3), "checkpoint_id": None}])
        )["outcome"]
        == "completed"
    )


def test_a_restore_is_no_sight_of_a_checkpoint() -> None:
    assert facts(log=[{"kind": "job_restored", "ts": noon(), "checkpoint_id": 7}]) == []


ONE_SIZE: dict[str, Any] = {
    "status": "COMPLETED",
    "state_bytes": 82,
    "checkpointed_bytes": None,
    "is_savepoint": False,
}
DONE: dict[str, Any] = {
    "kind": "checkpoint_completed",
    "ts": noon(3),
    "state_bytes": 4_257_984,
    "duration_ms": 2705,
}


def test_one_size_alone_is_the_upload_and_full_only_of_savepoints_and_backends_that_write_everything() -> (
    None
):
    heap = {"state": "RUNNING", "state_backend": "FsStateBackend"}
    told = [
        facts(rest=[ONE_SIZE]),
        facts(rest=[ONE_SIZE | {"is_savepoint": True}]),
        facts(rest=[ONE_SIZE], jobs=[heap]),
    ]
    assert [(only(one)["state_bytes"], only(one)["checkpointed_bytes"]) for one in told] == [
        (None, 82),
        (82, 82),
        (82, 82),
    ]


def test_the_one_size_of_an_old_log_is_the_upload_too() -> None:
    old = DONE | {"message": "Completed checkpoint 1 for job 1 (4257984 bytes in 2705 ms)."}
    new = DONE | {
        "message": (
            "Completed checkpoint 1 for job 1 (4257984 bytes, checkpointDuration=2705 ms, "
            "finalizationTime=2 ms)."
        )
    }
    told = [
        facts(log=[TRIGGERED, old]),
        facts(log=[TRIGGERED, new]),
        facts(log=[TRIGGERED, new], jobs=[{"flink_version": "1.14.6"}]),
    ]
    sizes = [(only(one)["state_bytes"], only(one)["checkpointed_bytes"]) for one in told]
    assert sizes == [(None, 4_257_984), (4_257_984, None), (None, 4_257_984)]


def test_figures_of_an_answer_that_found_it_in_progress_are_not_those_of_a_completed_one() -> None:
    early = IN_PROGRESS | {
        "state_bytes": 530,
        "checkpointed_bytes": 530,
        "end_to_end_ms": 129,
        "subtasks": 10,
        "acknowledged": 2,
    }
    pending = ARRAYS | {
        "status": "IN_PROGRESS",
        "acknowledged": 1,
        "subtask_ack_time": [noon(1), None, None],
    }
    fact = only(facts(rest=[early], vertices=[pending], log=[TRIGGERED, DONE]))
    assert (fact["outcome"], fact["state_bytes"], fact["end_to_end_ms"]) == (
        "completed",
        4_257_984,
        2705,
    )
    assert (fact["checkpointed_bytes"], fact["acknowledged"], fact["subtasks"]) == (None, None, 10)
    assert (fact["slowest_end_to_end_ms"], fact["async_ms"]) == (None, None)
    still = only(facts(rest=[early], log=[TRIGGERED]))
    assert (still["outcome"], still["state_bytes"], still["acknowledged"]) == (
        "in_progress",
        530,
        2,
    )


def test_a_vertex_whose_subtasks_had_all_acknowledged_is_known_although_the_checkpoint_went_on() -> (
    None
):
    whole = ARRAYS | {"status": "IN_PROGRESS"}
    assert only(facts(vertices=[whole], log=[TRIGGERED, DONE]))["slowest_end_to_end_ms"] == 5000


def test_who_had_not_acknowledged_before_the_end_is_not_who_never_did() -> None:
    pending = ARRAYS | {
        "status": "IN_PROGRESS",
        "acknowledged": 1,
        "subtask_ack_time": [noon(1), None, None],
    }
    last = failed("Checkpoint expired before completing.") | {"subtasks": 3, "acknowledged": 2}
    (missing,) = only(facts(rest=[last], vertices=[pending]))["not_acknowledged"]
    assert (missing["vertex_id"], missing["count"]) == (None, 1)


def test_the_count_of_those_missing_is_that_of_the_subtasks_that_are_named() -> None:
    acks = {
        "status": "FAILED",
        "subtasks": 4,
        "acknowledged": 3,
        "subtask_ack_time": [1, 1, 1, None],
        "observed_at": noon(7),
    }
    earlier = {"status": "FAILED", "subtasks": 4, "acknowledged": 2, "observed_at": noon(6)}
    aborted = acks | {
        "subtask_ack_time": [1, 1, 1, 1],
        "subtask_aborted": [False, False, False, True],
    }
    for rows in ([acks, earlier], [aborted]):
        (missing,) = only(
            facts(rest=[failed("Checkpoint expired before completing.")], vertices=rows)
        )["not_acknowledged"]
        assert (missing["count"], missing["subtasks"]) == (1, [3])


@pytest.mark.parametrize(
    ("delay_ms", "phase"), [(5_000, "async"), (23_000, "start_delay"), (None, "sync")]
)
def test_an_asynchronous_part_that_was_cut_off_took_what_the_others_leave(
    delay_ms: int | None, phase: str
) -> None:
    """Where one of the others is unknown, nothing can be said of it."""
    late = {
        "status": "FAILED",
        "subtasks": 1,
        "acknowledged": 0,
        "subtask_ack_time": [1],
        "subtask_aborted": [True],
        "subtask_end_to_end_ms": [30_000],
        "subtask_start_delay_ms": [delay_ms],
        "subtask_alignment_ms": [0],
        "subtask_sync_ms": [100],
        "subtask_async_ms": [None],
        "observed_at": noon(7),
    }
    expired = failed("Checkpoint expired before completing.")
    (missing,) = only(facts(rest=[expired], vertices=[late]))["not_acknowledged"]
    assert (missing["late"], missing["late_phase"]) == (1, phase)


def test_an_empty_state_has_no_ratio() -> None:
    assert (
        only(facts(rest=[{"status": "COMPLETED", "state_bytes": 0, "checkpointed_bytes": 0}]))[
            "uploaded_ratio"
        ]
        is None
    )


def test_nothing_in_nothing_out() -> None:
    assert facts() == []
