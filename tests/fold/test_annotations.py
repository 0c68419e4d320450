from collections.abc import Iterable
from typing import Any

from spark_jobs.fold import retention
from spark_jobs.fold.annotations import annotations
from tests.fold.rows import JOB, VERTEX, Row, events, facts, lake, noon, only

OTHER_JOB = "f" * 32


def notes(
    jobs: Iterable[Row] = (), checkpoints: Iterable[Row] = (), log: Iterable[Row] = ()
) -> list[dict[str, Any]]:
    """As a run makes them: from what it remembers, each row once."""
    return annotations(
        retention.answers(lake("jobs", jobs)),
        facts(checkpoints),
        retention.events(retention.each_once(events(log))),
    )


def states(at_s: float, **since_s: float) -> dict[str, Any]:
    return {
        "observed_at": noon(at_s),
        "state_since": [{"state": state, "since": noon(since)} for state, since in since_s.items()],
    }


def job_state(at_s: float, to_state: str) -> dict[str, Any]:
    return {"kind": "job_state", "to_state": to_state, "ts": noon(at_s), "job_name": "orders"}


def test_a_restart_that_both_sources_saw_is_one_dated_by_rest() -> None:
    jobs = [states(15, RUNNING=0, RESTARTING=10.004), states(30, RUNNING=12.5, RESTARTING=10.004)]
    row = only(notes(jobs, log=[job_state(9.998, "RESTARTING"), job_state(12.498, "RUNNING")]))
    assert (row["kind"], row["subject"], row["at"], row["label"]) == (
        "restart",
        "",
        noon(10),
        "restart",
    )
    assert row["detail"]["downtime_at_least_ms"] == 2500


def test_restarts_seconds_apart_are_two() -> None:
    jobs = [states(15, RESTARTING=10), states(30, RESTARTING=20)]
    rows = notes(jobs, log=[job_state(10, "RESTARTING"), job_state(20, "RESTARTING")])
    assert sorted(row["at"] for row in rows) == [noon(10), noon(20)]


def test_a_restart_has_the_same_key_whether_the_log_came_in_time_or_not() -> None:
    jobs = [states(15, RESTARTING=10.004)]
    assert only(notes(jobs))["at"] == only(notes(jobs, log=[job_state(9.998, "RESTARTING")]))["at"]


def test_a_counter_that_rose_without_a_state_is_a_restart_too() -> None:
    jobs = [
        {"observed_at": noon(0), "restarts": 1},
        {"observed_at": noon(30), "restarts": 4},
        {"observed_at": noon(60), "restarts": 4},
    ]
    row = only(notes(jobs))
    assert (row["kind"], row["at"], row["detail"]) == ("restart", noon(30), {"count": 3})


def test_a_counter_that_rose_with_a_state_is_not_told_twice() -> None:
    jobs = [
        states(0, RUNNING=-60) | {"restarts": 0},
        states(30, RESTARTING=12, RUNNING=14) | {"restarts": 1},
    ]
    assert only([row for row in notes(jobs) if row["kind"] == "restart"])["at"] == noon(12)


def test_a_counter_that_rises_after_the_state_was_seen_is_not_told_twice() -> None:
    jobs = [
        states(15, RESTARTING=12) | {"restarts": 0},
        states(30, RESTARTING=12, RUNNING=20) | {"restarts": 1},
    ]
    assert only(notes(jobs))["at"] == noon(12)


def test_a_counter_alone_is_dated_by_the_log_and_not_told_twice() -> None:
    """As a Prometheus tells it, which knows no states of the past."""
    jobs = [{"observed_at": noon(0), "restarts": 0}, {"observed_at": noon(100), "restarts": 1}]
    log = [job_state(62, "RESTARTING"), job_state(64, "RUNNING")]
    assert only(notes(jobs, log=log))["at"] == noon(62)
    later = [{"observed_at": noon(200), "restarts": 1}, {"observed_at": noon(300), "restarts": 2}]
    assert sorted(row["at"] for row in notes([*jobs, *later], log=log)) == [noon(62), noon(300)]


def test_a_restore_says_from_what_and_whether_it_was_claimed() -> None:
    path = f"file:/ckpt/{OTHER_JOB}/chk-6"
    rest = {"restored_at": noon(1), "restored_checkpoint_id": 6, "restored_path": path}
    log = {
        "kind": "restored",
        "checkpoint_type": "Checkpoint",
        "checkpoint_id": 6,
        "path": path,
        "ts": noon(1.002),
    }
    claimed = only(notes([rest | {"restored_is_savepoint": False}], log=[log]))
    assert (claimed["kind"], claimed["subject"], claimed["label"]) == (
        "restore",
        "6",
        "restored from checkpoint 6",
    )
    assert claimed["detail"]["claim_mode"] == "CLAIM"
    left = only(
        notes(
            [rest | {"restored_is_savepoint": True}], log=[log | {"checkpoint_type": "Savepoint"}]
        )
    )
    assert left["detail"] == {
        "from": "checkpoint",
        "checkpoint_id": 6,
        "path": path,
        "claim_mode": "NO_CLAIM or LEGACY",
    }


def test_a_restart_from_the_own_checkpoint_claims_nothing() -> None:
    log = {
        "kind": "restored",
        "checkpoint_type": "Checkpoint",
        "checkpoint_id": 3,
        "path": f"file:/ckpt/{JOB}/chk-3",
    }
    assert only(notes(log=[log]))["detail"]["claim_mode"] is None


def test_savepoints_come_from_the_facts_with_their_outcome() -> None:
    rows = notes(
        checkpoints=[{}, {"is_savepoint": True}, {"is_savepoint": True, "outcome": "declined"}]
    )
    assert sorted((row["subject"], row["label"], row["at"]) for row in rows) == [
        ("2", "savepoint 2", noon(120)),
        ("3", "savepoint 3 declined", noon(180)),
    ]


def test_the_first_task_that_failed_gives_the_words() -> None:
    failed = {"kind": "task_state", "to_state": "FAILED", "attempt": 0, "host": "h1"}
    log = [
        failed | {"task": "sink", "subtask": 1, "ts": noon(5.2), "reason_text": "lost its input"},
        failed
        | {
            "task": "enrich",
            "subtask": 2,
            "ts": noon(5.0),
            "reason_text": "java.io.IOException: disk full",
        },
        job_state(5.1, "FAILING"),
    ]
    row = only(notes(log=log))
    assert (row["kind"], row["at"], row["label"]) == ("failure", noon(5), "enrich failed")
    assert row["detail"]["cause"] == "java.io.IOException: disk full"


def test_the_end_of_a_job_is_told_once() -> None:
    log = [
        job_state(7.001, "CANCELED"),
        {"kind": "job_terminal", "to_state": "CANCELED", "ts": noon(7.2)},
    ]
    row = only(notes([states(9, CANCELED=7)], log=log))
    assert (row["kind"], row["subject"], row["at"], row["label"]) == (
        "terminal",
        "CANCELED",
        noon(7),
        "canceled",
    )


def test_a_submission_is_told_once_although_the_log_is_seconds_earlier() -> None:
    log = {"kind": "job_submitted", "job_name": "orders", "ts": noon(0.1)}
    row = only(
        notes(
            [{"start_time": noon(3), "flink_version": "1.20.5", "observed_at": noon(9)}], log=[log]
        )
    )
    assert (row["kind"], row["at"], row["label"]) == ("deploy", noon(3), "submitted")


def test_a_changed_parallelism_is_a_rescale_of_that_vertex() -> None:
    def occurrence(at_s: float, parallelism: int) -> dict[str, Any]:
        return {
            "observed_at": noon(at_s),
            "vertices": [{"vertex_id": VERTEX, "name": "map", "parallelism": parallelism}],
        }

    row = only(notes([occurrence(0, 2), occurrence(30, 2), occurrence(60, 4), occurrence(90, 4)]))
    assert (row["kind"], row["subject"], row["at"], row["label"]) == (
        "rescale",
        VERTEX,
        noon(60),
        "map: 2 → 4",
    )


def test_order_and_replays_do_not_matter() -> None:
    jobs = [
        states(15, RESTARTING=10.4, RUNNING=1),
        states(30, RESTARTING=20.9, RUNNING=22) | {"restarts": 2},
    ]
    log = [
        event | {"record_hash": str(n)}
        for n, event in enumerate(
            [job_state(10.3, "RESTARTING"), job_state(11, "RUNNING"), job_state(20.8, "RESTARTING")]
        )
    ]
    savepoint = [{"is_savepoint": True}]
    one = notes(jobs, savepoint, log)
    other = notes(jobs[::-1] + jobs, savepoint, log[::-1] + log)
    assert one == other
    assert len(one) == 3
