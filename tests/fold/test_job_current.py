from collections.abc import Iterable
from typing import Any

import pytest

from spark_jobs.fold import retention
from spark_jobs.fold.job_current import job_current
from spark_jobs.fold.older_facts import OlderFacts
from spark_jobs.serving import PHASES
from tests.fold.rows import VERTEX, Row, events, facts, lake, noon, serving

RUNNING = {"name": "orders", "state": "RUNNING", "start_time": noon(-100)}


def current(
    jobs: Iterable[Row] = (),
    checkpoints: Iterable[Row] = (),
    pressure: Iterable[Row] = (),
    log: Iterable[Row] = (),
) -> dict[str, Any]:
    """As a run makes it: from what it remembers, each row once."""
    of_job = [event for event in events(log) if event["job_id"] is not None]
    windows = retention.pressure(serving("pressure_window", pressure))
    return job_current(
        retention.answers(lake("jobs", jobs)),
        facts(checkpoints),
        windows,
        retention.events(retention.each_once(of_job)),
        OlderFacts(),
        {},
    )


def seen(at_s: float, **values: Any) -> dict[str, Any]:
    return {"observed_at": noon(at_s)} | values


def test_the_newest_sight_gives_the_state() -> None:
    row = current(
        [
            seen(30, **RUNNING),
            seen(60, state="CANCELED", end_time=noon(50)),
            seen(10, state="CREATED"),
        ]
    )
    assert (row["name"], row["state"], row["terminal"], row["end_time"]) == (
        "orders",
        "CANCELED",
        True,
        noon(50),
    )
    assert (row["first_seen_at"], row["last_seen_at"], row["as_of"]) == (
        noon(10),
        noon(60),
        noon(60),
    )


def test_what_the_newest_sight_lacks_is_carried_from_the_newest_that_had_it() -> None:
    plan = {"vertices": [{"vertex_id": VERTEX, "name": "map", "parallelism": 4}], "edges": []}
    settings = {
        "checkpointing_mode": "exactly_once",
        "checkpoint_interval_ms": 5000,
        "configuration": [{"key": "a", "value": "1"}],
    }
    row = current(
        [seen(10, **plan, **settings, restarts=2), seen(20, state="RUNNING", vertices=[], edges=[])]
    )
    assert row["graph"]["vertices"] == [
        {
            "vertex_id": VERTEX,
            "name": "map",
            "parallelism": 4,
            "status": None,
            "max_parallelism": None,
            "slot_sharing_group_id": None,
        }
    ]
    assert (row["vertex_count"], row["restarts"], row["checkpoint_interval_ms"]) == (1, 2, 5000)
    assert row["checkpoint_config"]["mode"] == "exactly_once"
    assert row["configuration"] == {"a": "1"}


def test_a_job_that_runs_again_has_no_end() -> None:
    row = current([seen(10, state="FAILED", end_time=noon(9)), seen(20, state="RUNNING")])
    assert (row["state"], row["end_time"], row["terminal"]) == ("RUNNING", None, False)


def test_a_setting_named_twice_does_not_fail_the_job() -> None:
    settings = [
        {"key": "a", "value": "1"},
        {"key": "b", "value": None},
        {"key": "a", "value": "2"},
        {"key": None, "value": "3"},
    ]
    assert current([seen(1, configuration=settings)])["configuration"] == {"a": "2", "b": None}


def test_a_job_known_from_its_log_only_has_a_row() -> None:
    log: list[dict[str, Any]] = [
        {"kind": "job_submitted", "job_name": "orders", "ts": noon(1)},
        {"kind": "job_state", "to_state": "RUNNING", "ts": noon(2)},
        {"kind": "job_state", "to_state": "RESTARTING", "ts": noon(3)},
        {
            "kind": "restored",
            "checkpoint_type": "Checkpoint",
            "checkpoint_id": 7,
            "path": "file:/c/chk-7",
            "ts": noon(4),
        },
        {"kind": "job_state", "to_state": "FINISHED", "ts": noon(5)},
        {"kind": "tm_registered", "job_id": None, "ts": noon(6)},
    ]
    row = current(log=[event | {"observed_at": noon(60)} for event in log])
    assert (row["name"], row["state"], row["terminal"], row["end_time"]) == (
        "orders",
        "FINISHED",
        True,
        noon(5),
    )
    assert (row["restarts"], row["start_time"], row["last_seen_at"], row["as_of"]) == (
        1,
        noon(1),
        noon(5),
        noon(60),
    )
    assert (row["restored_checkpoint_id"], row["restored_at"], row["restored_is_savepoint"]) == (
        7,
        noon(4),
        False,
    )


def test_the_log_knows_the_end_that_rest_did_not_live_to_tell() -> None:
    row = current(
        [seen(10, **RUNNING)], log=[{"kind": "job_state", "to_state": "CANCELED", "ts": noon(12)}]
    )
    assert (row["state"], row["end_time"]) == ("CANCELED", noon(12))


def test_a_log_in_a_wrong_time_zone_does_not_overrule_rest() -> None:
    ahead = {
        "kind": "job_state",
        "to_state": "CREATED",
        "ts": noon(8 * 3600),
        "observed_at": noon(20),
    }
    assert current([seen(30, **RUNNING)], log=[ahead])["state"] == "RUNNING"


def test_a_restore_told_by_both_is_taken_from_rest() -> None:
    rest = seen(
        9,
        restored_at=noon(1),
        restored_checkpoint_id=6,
        restored_is_savepoint=True,
        restored_path="file:/s/savepoint-0-1",
    )
    log = {
        "kind": "restored",
        "checkpoint_id": 6,
        "checkpoint_type": "Checkpoint",
        "ts": noon(1.003),
    }
    assert current([rest], log=[log])["restored_is_savepoint"] is True
    later = {
        "kind": "restored",
        "checkpoint_id": 8,
        "checkpoint_type": "Checkpoint",
        "ts": noon(60),
    }
    assert current([rest], log=[log, later])["restored_checkpoint_id"] == 8


def test_recent_outcomes_are_the_last_sixteen_oldest_first() -> None:
    many = [{"outcome": "expired" if n % 5 == 0 else "completed"} for n in range(1, 21)] + [
        {"checkpoint_id": 21, "outcome": "in_progress"}
    ]
    row = current(checkpoints=many)
    recent = row["recent_outcomes"]
    assert [one["checkpoint_id"] for one in recent] == list(range(5, 21))
    assert recent[0] == {"checkpoint_id": 5, "outcome": "expired", "is_savepoint": False}
    assert (row["recent_total"], row["recent_failed"], row["last_completed_id"]) == (16, 4, 19)


def test_savepoints_are_shown_but_not_counted() -> None:
    rows = [
        {"end_to_end_ms": 100, "state_bytes": 5, "checkpointed_bytes": 1},
        {"is_savepoint": True, "end_to_end_ms": 9000, "state_bytes": 99},
    ]
    row = current(checkpoints=rows)
    assert len(row["recent_outcomes"]) == 2
    assert (row["recent_total"], row["end_to_end_p95_ms"], row["last_completed_id"]) == (1, 100, 1)
    assert (row["state_bytes"], row["checkpointed_bytes"], row["last_completed_at"]) == (
        5,
        1,
        noon(60.1),
    )


def test_the_dominant_phase_is_that_of_the_slowest_subtasks() -> None:
    one = {"slowest_end_to_end_ms": 100, "slowest_alignment_ms": 80, "slowest_async_ms": 20}
    other = {
        "slowest_end_to_end_ms": 100,
        "slowest_async_ms": 50,
        "slowest_sync_ms": 0,
        "slowest_alignment_ms": 50,
    }
    row = current(checkpoints=[one, other])
    assert (row["dominant_phase"], row["dominant_phase_share"]) == (
        "alignment",
        pytest.approx(0.65),
    )


def test_without_phases_no_phase_dominates() -> None:
    row = current(
        checkpoints=[{"end_to_end_ms": 100} | {f"slowest_{phase}_ms": 0 for phase in PHASES}]
    )
    assert (row["dominant_phase"], row["dominant_phase_share"]) == (None, None)


def test_pressured_share_is_the_worst_vertex_in_its_newest_window() -> None:
    def window(vertex: str, start: float, share: float) -> dict[str, Any]:
        return {
            "vertex_id": vertex,
            "window_start": noon(start),
            "window_s": 60,
            "samples": 2,
            "backpressured_share": share,
        }

    assert (
        current(
            pressure=[
                window("a", 0, 1.0),
                window("a", 60, 0.25),
                window("b", 60, 0.5),
                window("b", 0, 0.0),
            ]
        )["pressured_share"]
        == 0.5
    )


def test_order_and_replays_do_not_matter() -> None:
    jobs = [
        seen(n, state=state, name="orders")
        for n, state in enumerate(["CREATED", "RUNNING", "FAILED", "RUNNING"])
    ]
    same_instant = [seen(3, state="FAILED", commit_seq=2), seen(3, state="RUNNING", commit_seq=3)]
    log = [
        {"kind": "job_state", "to_state": "RESTARTING", "ts": noon(n), "record_hash": str(n)}
        for n in range(3)
    ]
    checkpoints = [{"outcome": "completed"}, {"outcome": "failed"}]
    one = current(jobs + same_instant, checkpoints, log=log)
    other = current(same_instant[::-1] + jobs[::-1] + jobs, checkpoints, log=log[::-1] + log)
    assert one == other
    assert one["restarts"] == 3


def test_flinks_counters_are_those_of_one_answer() -> None:
    """An answer without them does not take them away; a counter that it lacks stays unknown."""
    first = seen(10, checkpoints_total=3, checkpoints_failed=1)
    second = seen(20, checkpoints_total=4, checkpoints_completed=3)
    told = {
        "at": noon(20),
        "total": 4,
        "completed": 3,
        "failed": None,
        "in_progress": None,
        "restored": None,
    }
    assert current([first, second])["flink_counts"] == told
    assert current([second, seen(30)])["flink_counts"] == told
    assert current([seen(10, **RUNNING)])["flink_counts"] is None
