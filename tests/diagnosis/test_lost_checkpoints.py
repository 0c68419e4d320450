"""checkpoint.declined, .failed, .expired and .late_message."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.failure_causes.table import UNKNOWN, cause_by_code
from tests.diagnosis.jobs import (
    MINUTELY,
    chain,
    checkpoint,
    event,
    evidence,
    found,
    minutely,
    ms,
    past,
    pressed,
    savepoint,
    unknown,
    window,
)

DECLINE = {
    "vertex_id": "e",
    "vertex_name": "enrich",
    "subtask": 1,
    "attempt": 0,
    "host": "host-2",
    "container": "tm-2",
    "reason": "CHECKPOINT_ASYNC_EXCEPTION",
    "exception": ("java.io.IOException: disk full"),
    "log_line": "Decline checkpoint 9 by task …",
}


def declined(id, at, **values):
    values = {"reason": "CHECKPOINT_ASYNC_EXCEPTION", "declines": (DECLINE,), **values}
    return checkpoint(id, at, "declined", **values)


def expired(id, at, **values):
    return checkpoint(id, at, "expired", took=600, reason="CHECKPOINT_EXPIRED", **values)


def test_a_decline_names_task_host_and_exception():
    [finding] = found(window(*minutely(3), declined(4, 180)), "checkpoint.declined")
    assert finding.title == "1 checkpoint declined by enrich/1 on host-2"
    assert "disk full" in finding.cause
    assert evidence(finding, "declined by") == "enrich/1"
    assert evidence(finding, "host") == "host-2"
    assert evidence(finding, "exception") == "java.io.IOException: disk full"
    assert (finding.subject_kind, finding.subject_id, finding.subject) == ("job", "job", "orders")


def test_the_first_evidence_of_declines_is_their_count():
    [finding] = found(
        window(declined(1, 0), *minutely(3, 2, 60), declined(5, 240)), "checkpoint.declined"
    )
    assert (finding.evidence[0].name, finding.evidence[0].value) == ("declined checkpoints", 2)


def test_declines_are_seen_when_they_happened_whenever_they_are_judged():
    lost = window(*minutely(3), declined(4, 180))
    [now], [later] = (
        found(lost, "checkpoint.declined"),
        found(replace(lost, at_ms=ms(300)), "checkpoint.declined"),
    )
    assert now.seen_at_ms == later.seen_at_ms == ms(181)


def test_a_decline_beyond_the_look_back_is_over():
    assert not found(window(declined(1, 0), *minutely(20, 2, 60)), "checkpoint.declined")


@pytest.mark.parametrize(
    "outcome", ["preflight", "aborted", "subsumed", "in_progress", "completed"]
)
def test_what_is_no_failure_is_never_told_as_one(outcome):
    quiet = window(*minutely(3), checkpoint(4, 180, outcome, reason="CHECKPOINT_DECLINED"), at=200)
    for rule in ("checkpoint.declined", "checkpoint.failed", "checkpoint.expired"):
        assert not found(quiet, rule)


def test_a_gap_in_ids_is_no_failure():
    for rule in ("checkpoint.declined", "checkpoint.failed", "checkpoint.expired"):
        assert not found(window(checkpoint(1, 0), savepoint(2, 30), checkpoint(5, 60)), rule)


def test_every_second_checkpoint_lost_is_critical_and_one_of_many_is_not():
    [half] = found(window(*minutely(2), declined(3, 120), declined(4, 180)), "checkpoint.declined")
    [few] = found(window(*minutely(5), declined(6, 300)), "checkpoint.declined")
    assert (half.severity, few.severity) == ("critical", "warning")


def test_the_distance_to_the_tolerance_is_told_and_makes_it_critical():
    almost = window(*minutely(8), declined(9, 480), declined(10, 540))
    [finding] = found(almost, "checkpoint.declined")
    assert evidence(finding, "tolerable failures left") == 1
    assert finding.severity == "critical"
    assert "tolerates 1 more in a row" in finding.next_step


def test_a_success_restores_the_whole_tolerance():
    [finding] = found(
        window(*minutely(8), declined(9, 480), declined(10, 540), checkpoint(11, 600)),
        "checkpoint.declined",
    )
    assert evidence(finding, "tolerable failures left") == 3
    assert finding.severity == "warning"


def test_a_tolerance_without_end_is_not_counted_down():
    endless = replace(MINUTELY, tolerable_failed=2**31 - 1)
    [finding] = found(window(*minutely(5), declined(6, 300), config=endless), "checkpoint.declined")
    assert "tolerable failures left" not in {one.name for one in finding.evidence}


def test_tasks_that_were_not_ready_after_a_start_are_information():
    [finding] = found(
        window(declined(1, 0, reason="CHECKPOINT_DECLINED_TASK_NOT_READY"), checkpoint(2, 60)),
        "checkpoint.declined",
    )
    assert finding.severity == "info"


def test_a_decline_without_a_name_is_told_with_what_rest_says():
    nameless = checkpoint(
        4, 180, "declined", reason="CHECKPOINT_DECLINED", failure_message="Checkpoint was declined."
    )
    [finding] = found(window(*minutely(3), nameless), "checkpoint.declined")
    assert finding.confidence == "medium"
    assert evidence(finding, "exception") == "Checkpoint was declined."


def test_where_nobody_is_named_those_who_had_not_acknowledged_are():
    missing = (
        {"vertex_id": "e", "vertex_name": "enrich", "subtasks": [1], "count": 1, "hosts": []},
    )
    nameless = checkpoint(
        4, 180, "declined", reason="CHECKPOINT_DECLINED", not_acknowledged=missing
    )
    [finding] = found(window(*minutely(3), nameless), "checkpoint.declined")
    assert evidence(finding, "not acknowledged by enrich") == 1


def test_failures_are_told_by_reason():
    lost = [
        checkpoint(
            id, 60 * id, "failed", reason="FINALIZE_CHECKPOINT_FAILURE", failure_message="no space"
        )
        for id in (4, 5)
    ]
    [finding] = found(
        window(*minutely(3), *lost, checkpoint(6, 360, "failed", reason="IO_EXCEPTION")),
        "checkpoint.failed",
    )
    assert finding.title == "3 checkpoints failed: FINALIZE_CHECKPOINT_FAILURE"
    assert evidence(finding, "failed with FINALIZE_CHECKPOINT_FAILURE") == 2
    assert evidence(finding, "failed with IO_EXCEPTION") == 1


def with_a_task(id, at):
    return checkpoint(
        id,
        at,
        "failed",
        reason="TASK_FAILURE",
        reason_text="java.io.IOException: disk full",
        failure_message="suspending",
    )


def test_one_lost_with_a_failed_task_is_told_by_its_restart():
    assert not found(window(*minutely(5), with_a_task(6, 300)), "checkpoint.failed")


def test_where_failed_tasks_take_every_second_checkpoint_it_is_critical_with_their_exception():
    lost = [with_a_task(number, 60 * number) for number in (3, 5, 6)]
    [finding] = found(window(*minutely(2), *lost, checkpoint(4, 240)), "checkpoint.failed")
    assert (finding.severity, finding.title) == ("critical", "3 checkpoints failed: TASK_FAILURE")
    assert evidence(finding, "failure message") == "java.io.IOException: disk full"


INNERMOST = "Permission denied"
LONG = (
    "org.apache.flink.util.FlinkException: Could not finalize checkpoint: "
    f"/checkpoints/{'deep/' * 120}_metadata: {INNERMOST}"
)
TRACE = (
    "java.lang.Exception: outer\n"
    + "\tat org.apache.flink.A.b(A.java:1)\n" * 40
    + f"Caused by: java.io.IOException: {INNERMOST}\n"
)


@pytest.mark.parametrize("message", [LONG, TRACE])
def test_of_a_long_failure_message_the_innermost_cause_stays(message):
    [finding] = found(
        window(
            *minutely(3),
            checkpoint(4, 180, "failed", reason="IO_EXCEPTION", failure_message=message),
        ),
        "checkpoint.failed",
    )
    told = evidence(finding, "failure message")
    assert len(told) <= 500
    assert told.startswith(message[:25])
    assert INNERMOST in told


@pytest.mark.parametrize("message", [LONG, TRACE])
def test_of_a_long_exception_of_a_decline_the_innermost_cause_stays(message):
    lost = declined(4, 180, declines=({**DECLINE, "exception": message},))
    [finding] = found(window(*minutely(3), lost), "checkpoint.declined")
    assert INNERMOST in evidence(finding, "exception")


def test_a_failure_without_a_reason_is_less_certain():
    [finding] = found(window(*minutely(3), checkpoint(4, 180, "failed")), "checkpoint.failed")
    assert finding.confidence == "medium"


def test_a_storage_that_does_not_answer_is_told_by_the_log_alone():
    lines = [
        event(200, "checkpoint_failed", reason="IO_EXCEPTION", message="…"),
        event(200.1, "trigger_failed", reason="IO_EXCEPTION"),
    ]
    lines += [event(260, "checkpoint_failed", reason="IO_EXCEPTION", message="…")]
    [finding] = found(window(*minutely(3), events=tuple(lines), at=300), "checkpoint.failed")
    assert finding.title == "2 checkpoints failed: IO_EXCEPTION"
    assert finding.data["checkpoints"] == []
    assert evidence(finding, "tolerable failures left") == 1


def test_refusals_that_do_not_count_are_no_failures():
    refused = event(200, "checkpoint_failed", reason="NOT_ALL_REQUIRED_TASKS_RUNNING")
    assert not found(window(*minutely(3), events=(refused,), at=300), "checkpoint.failed")


def test_a_lost_savepoint_is_called_a_savepoint():
    [finding] = found(
        window(*minutely(3), savepoint(4, 180, "expired", took=600)), "checkpoint.expired"
    )
    assert finding.title.startswith("1 savepoint expired")
    assert finding.severity == "warning"


MISSING = (
    {
        "vertex_id": "sink",
        "vertex_name": "sink",
        "subtasks": [0, 1],
        "count": 2,
        "hosts": ["host-3"],
    },
)
PLAN = chain("source", "enrich", "sink")


def test_an_expiry_tells_who_had_not_acknowledged():
    lost = expired(4, 180, subtasks=6, acknowledged=4, not_acknowledged=MISSING)
    [finding] = found(window(*minutely(3), lost, **PLAN), "checkpoint.expired")
    assert "2 of 6 subtasks had not acknowledged: sink (2)" in finding.cause
    [who] = [one for one in finding.evidence if one.name == "not acknowledged by sink"]
    assert (who.value, who.note) == (2, "subtasks 0, 1; on host-3")


def test_an_expiry_is_laid_to_the_origin_that_held_the_barrier():
    lost = expired(4, 180, subtasks=6, acknowledged=4, not_acknowledged=MISSING)
    held = window(
        *minutely(3),
        lost,
        vertex_windows=pressed(source="blocked", enrich="busy", sink="idle"),
        **PLAN,
    )
    [finding] = found(held, "checkpoint.expired")
    assert (
        finding.title
        == "1 checkpoint expired after 10 min, barrier held by back-pressure from enrich"
    )
    assert evidence(finding, "barrier held by") == "enrich"
    assert finding.data["phase"] == "start_delay"
    assert finding.confidence == "high"
    [vertex] = [related for related in finding.related if related.kind == "vertex"]
    assert (vertex.subject, vertex.path) == ("enrich", ("source", "enrich"))


def test_the_pressure_of_the_checkpoints_own_time_counts_even_if_it_is_over():
    lost = expired(4, 180, subtasks=6, acknowledged=4, not_acknowledged=MISSING)
    over = window(
        *minutely(3),
        lost,
        checkpoint(5, 840),
        vertex_windows=pressed(source="idle", enrich="idle", sink="idle"),
        past=past(600, source="blocked", enrich="busy", sink="idle"),
        at=900,
        **PLAN,
    )
    [finding] = found(over, "checkpoint.expired")
    assert evidence(finding, "barrier held by") == "enrich"


def test_a_job_that_ended_had_its_pressure_before():
    lost = expired(4, 180, subtasks=6, acknowledged=4, not_acknowledged=MISSING)
    ended = window(
        lost,
        vertex_windows=pressed(source="blocked", enrich="busy", sink="idle"),
        terminal=True,
        state="CANCELED",
        **PLAN,
    )
    [finding] = found(ended, "checkpoint.expired")
    assert evidence(finding, "barrier held by") == "enrich"


def test_without_pressure_nobody_is_blamed():
    lost = expired(4, 180, subtasks=6, acknowledged=4, not_acknowledged=MISSING)
    calm = window(
        *minutely(3),
        lost,
        vertex_windows=pressed(source="idle", enrich="idle", sink="idle"),
        **PLAN,
    )
    [finding] = found(calm, "checkpoint.expired")
    assert "No back-pressure was observed" in finding.cause
    assert finding.data["held_by"] is None


def test_without_metrics_it_says_that_pressure_is_not_known():
    [finding] = found(window(*minutely(3), expired(4, 180)), "checkpoint.expired")
    assert "not known" in finding.cause
    assert finding.confidence == "low"


def lost_while_writing(at, vertex_id="sink"):
    """Of the two that did not acknowledge a checkpoint of 180 to 780 s, as long as ``vertex_id``
    says nothing else.
    """
    begun = tuple(
        event(at, "checkpoint_async_started", checkpoint_id=4, vertex_id=vertex_id, subtask=index)
        for index in (0, 1)
    )
    return window(*minutely(3), expired(4, 180, not_acknowledged=MISSING), events=begun, **PLAN)


def test_tasks_that_were_writing_at_the_time_out_are_in_the_asynchronous_part():
    [finding] = found(lost_while_writing(700), "checkpoint.expired")
    assert finding.data["phase"] == "async"


def test_tasks_that_began_to_write_after_the_time_out_were_not_writing_at_it():
    [finding] = found(lost_while_writing(790), "checkpoint.expired")
    assert finding.data["phase"] is None


def test_what_those_did_who_acknowledged_says_nothing_of_those_who_did_not():
    [finding] = found(lost_while_writing(700, vertex_id="source"), "checkpoint.expired")
    assert finding.data["phase"] is None


def told_late(phase, count=2, **values):
    """Of the two subtasks that had not acknowledged, so many reported afterwards."""
    missing = tuple({**part, "late": count, "late_phase": phase} for part in MISSING)
    return window(*minutely(3), expired(4, 180, not_acknowledged=missing), **PLAN, **values)


HELD = pressed(source="blocked", enrich="busy", sink="idle")


@pytest.mark.parametrize(
    ("phase", "words", "step"),
    [
        ("sync", "synchronous part", "Look at the local disk"),
        ("async", "asynchronous part", "Check the checkpoint storage"),
    ],
)
def test_tasks_that_reported_after_the_time_out_say_in_which_phase_they_were(phase, words, step):
    [finding] = found(told_late(phase, vertex_windows=HELD), "checkpoint.expired")
    assert finding.cause.endswith(
        "2 subtasks reported after the time-out of checkpoint 4: most of the time of the slowest went into this "
        f"part: {words}."
    )
    assert finding.next_step.startswith(step)
    assert finding.data["phase"] == phase
    assert "barrier" not in finding.title


def test_tasks_that_say_they_waited_for_the_barrier_leave_it_to_the_origin_that_held_it():
    [finding] = found(told_late("start_delay", vertex_windows=HELD), "checkpoint.expired")
    assert "barrier held by back-pressure from enrich" in finding.title
    [alone] = found(told_late("start_delay", 1), "checkpoint.expired")
    assert "1 subtask reported after the time-out" in alone.cause
    assert "this part: start delay" in alone.cause


@pytest.mark.parametrize("unaligned", [True, False, None])
def test_unaligned_checkpoints_are_advised_where_they_are_not_set(unaligned):
    config = replace(MINUTELY, unaligned=unaligned)
    [finding] = found(
        told_late("start_delay", vertex_windows=HELD, config=config), "checkpoint.expired"
    )
    assert "Find out why enrich is slow" in finding.next_step
    assert ("unaligned" in finding.next_step) is (not unaligned)


def late(*late_ms):
    told = tuple(
        {"vertex_id": "sink", "vertex_name": "sink", "subtask": 0, "host": "host-3", "late_ms": one}
        for one in late_ms
    )
    return {"late_message_count": len(late_ms), "late_messages": told}


def test_no_checkpoint_at_all_is_unknown_and_checkpoints_switched_off_are_not():
    off = replace(MINUTELY, interval_ms=None)
    for rule in (
        "checkpoint.declined",
        "checkpoint.failed",
        "checkpoint.expired",
    ):
        assert "no checkpoint" in unknown(window(), rule)
        assert not found(window(config=off), rule)


def test_a_clock_that_runs_ahead_does_not_date_a_finding_into_the_future():
    ahead = window(*minutely(3), declined(4, 180), at=150)
    [finding] = found(ahead, "checkpoint.declined")
    assert finding.seen_at_ms == ms(150)


THROTTLED = (
    "java.io.IOException: Could not flush to file and close the file system output stream to "
    "s3://b/ck/chk-4/x in order to obtain the stream state handle\n"
    "Caused by: com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request "
    "rate. "
    "(Service: Amazon S3; Status Code: 503; Error Code: SlowDown)"
)
TOO_LARGE = (
    "java.io.IOException: Size of the state is larger than the maximum permitted memory-backed "
    "state. "
    "Size=6306404, maxSize=5242880."
)


@pytest.mark.parametrize(
    ("exception", "code"),
    [
        (THROTTLED, "STORE_THROTTLED"),
        (TOO_LARGE, "MEMORY_STATE_TOO_LARGE"),
        ("com.amazonaws.SdkClientException: Timeout waiting for connection from pool",
         "STORE_POOL_EXHAUSTED"),
        ("java.io.IOException: No space left on device", "DISK_FULL"),
    ],
)  # fmt: skip
def test_a_decline_is_advised_by_what_was_thrown(exception, code):
    thrown = declined(4, 180, declines=({**DECLINE, "exception": exception},))
    [finding] = found(window(*minutely(3), thrown), "checkpoint.declined")
    assert finding.data["cause"] == code
    assert str(cause_by_code(code).next_step) in finding.next_step


def test_a_decline_by_an_unknown_exception_keeps_the_advice_of_its_reason():
    [finding] = found(window(*minutely(3), declined(4, 180)), "checkpoint.declined")
    assert finding.data["cause"] == UNKNOWN


def test_a_failure_is_advised_by_its_message():
    lost = checkpoint(
        4, 180, "failed", reason="FINALIZE_CHECKPOINT_FAILURE", failure_message=THROTTLED
    )
    [finding] = found(window(*minutely(3), lost), "checkpoint.failed")
    assert finding.data["cause"] == "STORE_THROTTLED"


def came_late(*ms_late):
    return tuple(
        {"vertex_name": "enrich", "subtask": index, "late_ms": late_ms}
        for index, late_ms in enumerate(ms_late)
    )


def missing(*subtasks):
    return ({"vertex_name": "enrich", "subtasks": list(subtasks), "count": len(subtasks)},)


def test_an_expiry_says_how_many_seconds_were_missing():
    short = expired(
        4, 180, subtasks=50, acknowledged=47, not_acknowledged=missing(0, 1, 2),
        late_messages=came_late(12_000, 40_000, 7_000), late_message_count=3,
    )  # fmt: skip
    [finding] = found(window(*minutely(3), short), "checkpoint.expired")
    assert finding.data["progress"] == "short"
    assert evidence(finding, "last acknowledgement after the time-out") == 40_000
    assert evidence(finding, "share of subtasks that had acknowledged") == 0.94
    assert "94 %" in finding.cause


@pytest.mark.parametrize(("version", "named"), [((2, 4, 0), True), ((2, 3, 0), False)])
def test_an_expiry_that_hung_at_one_subtask_twice_says_which(version, named):
    hung = [
        expired(id, 600 * id, subtasks=50, acknowledged=49, not_acknowledged=missing(17))
        for id in (4, 5)
    ]
    [finding] = found(window(*hung, version=version), "checkpoint.expired", look_back_s=7200)
    assert finding.data["progress"] == "hung"
    assert ("sync-phase-timeout" in finding.next_step) is named
    assert "It hung at enrich [17]" in finding.cause


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((17,), (3,), id="another one each time"),
        pytest.param(tuple(range(40)), tuple(range(40)), id="most of them"),
    ],
)
def test_an_expiry_of_changing_or_many_subtasks_hung_at_none(first, second):
    lost = [
        expired(
            id, 600 * id, subtasks=50, acknowledged=50 - len(who), not_acknowledged=missing(*who)
        )
        for id, who in ((4, first), (5, second))
    ]
    [finding] = found(window(*lost), "checkpoint.expired", look_back_s=7200)
    assert finding.data["progress"] == "unknown"


def test_a_subtask_that_reported_late_by_rest_hung_nowhere():
    late = ({**missing(17)[0], "late": 1, "late_phase": "sync"},)
    lost = [
        expired(id, 600 * id, subtasks=50, acknowledged=49, not_acknowledged=late) for id in (4, 5)
    ]
    [finding] = found(window(*lost), "checkpoint.expired", look_back_s=7200)
    assert finding.data["progress"] == "unknown"
    assert "hung" not in finding.cause and "reported after the time-out" in finding.cause


def test_a_late_part_of_those_that_lack_is_not_all_of_them():
    partly = expired(
        4, 180, subtasks=50, acknowledged=40, not_acknowledged=missing(*range(10)),
        late_messages=came_late(12_000), late_message_count=1,
    )  # fmt: skip
    [finding] = found(window(*minutely(3), partly), "checkpoint.expired")
    assert finding.data["progress"] == "unknown"
