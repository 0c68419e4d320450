"""Checkpoint lists, details and subtask answers of real clusters."""

from datetime import UTC, datetime

import pytest

from ingest.errors import Skipped
from ingest.flink_rest.payloads import checkpoint_details, checkpoints
from tests.ingest.recorded import AT, answers, body

JOB = "a" * 32
VERTEX = "9c32e3838cee893dbb2fc90ccad79598"


def entry(recording, **changes):
    listed = body(recording, "/checkpoints", lambda found: found["history"])["history"][0]
    return {**listed, **changes}


def vertex(task):
    return checkpoint_details.vertex_checkpoint(task, JOB, 1, AT, VERTEX)


def subtask_answer(recording):
    return next(
        answer.body
        for answer in answers(recording)
        if "/subtasks/" in answer.path and "/details/" in answer.path
    )


def test_a_failed_checkpoint_keeps_reason_sizes_and_acknowledgements():
    failed = next(
        found
        for _, found in checkpoints.entries(body("1.20.5/E", "/checkpoints"))
        if found["status"] == "FAILED"
    )
    record = checkpoints.checkpoint(failed, JOB, "1.20.5")
    assert record.status == "FAILED"
    assert record.failure_message == "Asynchronous task checkpoint failed."
    assert (record.acknowledged, record.subtasks) == (failed["num_acknowledged_subtasks"], 10)
    assert (record.state_bytes, record.checkpointed_bytes) == (
        failed["state_size"],
        failed["checkpointed_size"],
    )


def test_1_12_reports_one_size_and_the_uploaded_one_stays_unknown():
    record = checkpoints.checkpoint(entry("1.12.5/G"), JOB)
    assert record.state_bytes > 0
    assert record.checkpointed_bytes is None


def test_a_failure_that_has_not_come_is_unknown_and_not_1969():
    record = checkpoints.checkpoint(entry("1.20.5/F", failure_timestamp=-1), JOB)
    assert record.failure_time is None


def test_trigger_times_keep_their_milliseconds():
    record = checkpoints.checkpoint(entry("1.20.5/E", trigger_timestamp=1795234383163), JOB)
    assert record.trigger_time == datetime(2026, 11, 21, 4, 13, 3, 163000, tzinfo=UTC)


def test_the_latest_savepoint_is_told_after_the_history_forgot_it():
    payload = body("1.20.5/G", "/checkpoints")
    savepoint = payload["latest"]["savepoint"]
    payload["history"] = [found for found in payload["history"] if found["id"] != savepoint["id"]]
    assert ("latest.savepoint", savepoint) in checkpoints.entries(payload)


def test_a_path_that_flink_cannot_name_is_unknown():
    record = checkpoints.checkpoint(
        entry("1.20.5/E", external_path="<checkpoint-not-externally-addressable>"), JOB
    )
    assert record.external_path is None


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"id": "seven"}, "history[0].id"),
        ({"trigger_timestamp": None}, "history[0].trigger_timestamp"),
        ({"trigger_timestamp": 10**18}, "history[0].trigger_timestamp"),
        ({"status": 3}, "history[0].status"),
        ({"state_size": [1]}, "history[0].state_size"),
        ({"num_subtasks": 1.5}, "history[0].num_subtasks"),
        ({"state_size": 10**30}, "history[0].state_size"),
    ],
)
def test_a_bad_field_is_named_with_its_place(changes, place):
    with pytest.raises(Skipped, match=place.replace("[", r"\[")):
        checkpoints.checkpoint(entry("1.20.5/E", **changes), JOB, place="history[0]")


def test_every_subtask_stands_at_its_own_index_whatever_the_order():
    task = subtask_answer("1.20.5/E")
    backwards = {**task, "subtasks": task["subtasks"][::-1]}
    assert vertex(backwards) == vertex(task)
    assert vertex(task).subtask_sync_ms == tuple(
        found["checkpoint"]["sync"] for found in task["subtasks"]
    )
    assert vertex(task).subtask_start_delay_ms == tuple(
        found["start_delay"] for found in task["subtasks"]
    )
    assert vertex(task).subtask_alignment_ms == tuple(
        found["alignment"]["duration"] for found in task["subtasks"]
    )


def test_a_subtask_that_has_not_acknowledged_leaves_gaps_at_its_index():
    task = subtask_answer("1.20.5/E")
    task = {
        **task,
        "subtasks": [
            {"className": "pending", "index": 0, "status": "pending_or_failed"},
            *task["subtasks"][1:],
        ],
    }
    record = vertex(task)
    assert record.subtask_ack_time[0] is None
    assert record.subtask_ack_time[1] is not None
    assert record.subtask_state_bytes[0] is None


def test_1_12_subtasks_have_phases_but_no_uploaded_size_and_no_unaligned_flag():
    record = vertex(subtask_answer("1.12.5/G"))
    assert all(delay is not None for delay in record.subtask_start_delay_ms)
    assert set(record.subtask_checkpointed_bytes) == set(record.subtask_unaligned) == {None}


def test_a_detail_without_subtasks_has_no_arrays():
    detail = next(
        answer.body
        for answer in answers("1.20.5/E")
        if answer.path.endswith("/checkpoints/details/3")
    )
    task = next(iter(checkpoint_details.vertex_parts(detail).values()))
    assert vertex(task).subtask_sync_ms is None


def test_parallelism_5000_is_read_whole():
    completed = subtask_answer("1.20.5/E")["subtasks"][0]
    task = {
        "status": "COMPLETED",
        "num_subtasks": 5000,
        "subtasks": [{**completed, "index": index} for index in range(5000)],
    }
    assert len(vertex(task).subtask_async_ms) == 5000


def test_an_index_beyond_flinks_largest_parallelism_is_refused():
    with pytest.raises(Skipped, match="index"):
        vertex({"subtasks": [{"index": 2**31, "status": "completed"}]})
