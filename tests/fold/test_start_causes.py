"""What a start began with and why a restart came: snapshot, failure, lost TaskManagers."""

from spark_jobs.fold.failures import Failure
from spark_jobs.fold.start_causes import with_causes
from tests.fold.rows import noon


def start(begun_s, took_s=10, kind="restart", **known):
    begun_at = noon(begun_s)
    return {
        "at": begun_at + 1_000,
        "begun_at": begun_at,
        "running_at": begun_at + took_s * 1_000,
        "kind": kind,
        **known,
    }


def restore(at_s, number, what="checkpoint"):
    detail = {"from": what, "checkpoint_id": number, "path": f"file:/c/chk-{number}"}
    return {"at": noon(at_s), "kind": "restore", "subject": str(number), "detail": detail}


def lost(at_s, name="tm-1"):
    return {"at": noon(at_s), "kind": "taskmanager_lost", "subject": name, "detail": {}}


def failed(at_s, text):
    return Failure(noon(at_s), True, True, text, None)


def test_a_restart_has_its_last_restored_snapshot_its_failure_and_its_losses():
    (row,) = with_causes(
        [start(60)],
        [restore(0, 1), restore(61, 7), restore(65, 8), lost(58), lost(64, "tm-2"), lost(90)],
        [failed(10, "java.io.IOException: old"), failed(59, "java.io.IOException: lost")],
    )
    assert (row["restored_checkpoint_id"], row["restored_is_savepoint"]) == (8, False)
    assert row["restored_path"] == "file:/c/chk-8"
    assert (row["failure"], row["lost_taskmanagers"]) == ("java.io.IOException: lost", 2)


def test_a_loss_belongs_to_one_restart_and_a_first_start_has_none():
    rows = with_causes(
        [start(0, kind="start"), start(60), start(100)], [restore(0, 3, "savepoint"), lost(58)], []
    )
    assert [row["lost_taskmanagers"] for row in rows] == [0, 1, 0]
    assert [row["restored_is_savepoint"] for row in rows] == [True, None, None]
    assert [row["failure"] for row in rows] == [None, None, None]


def test_what_was_known_before_stays_where_its_lines_are_not_held_any_more():
    (before,) = with_causes([start(60)], [restore(61, 7), lost(58)], [failed(59, "a.B: c")])
    assert with_causes([before], [], []) == [before]
