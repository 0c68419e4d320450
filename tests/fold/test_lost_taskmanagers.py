"""Lines about TaskManagers: which of them tell of a loss, and what becomes of them."""

import pytest

from spark_jobs.fold.annotations import annotations
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.lost_taskmanagers import COLUMNS, losses, lost_mentions
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import told
from tests.fold.rows import JOB, events, noon


def line(at_s=0, kind="tm_unreachable", container="tm-1:4-d1", reason_text=None):
    values = {
        "ts": noon(at_s),
        "kind": kind,
        "container": container,
        "reason_text": reason_text,
        "record_hash": f"{at_s:032}",
    }
    return {name: value for name, value in events([values])[0].items() if name in COLUMNS}


def notes(*lines, states=()):
    return annotations((), (), (), (), lost_mentions(losses(lines, states)))


@pytest.mark.parametrize(
    ("reason", "is_loss"),
    [
        ("TaskManager with id tm-1:4-d1 is no longer reachable.", True),
        ("The heartbeat of TaskManager with id tm-1 timed out.", True),
        ("The TaskExecutor is shutting down.", True),
        (
            "Pod terminated, container termination statuses: [flink-main-container(exitCode=137, "
            "reason=OOMKilled)], pod status: Failed",
            True,
        ),
        ("Container released on a *lost* node", True),
        ("TaskExecutor exceeded the idle timeout.", False),
        ("Stopping JobMaster for job 'lost and killed' (00000000000000000000000000000001).", False),
        (None, False),
    ],
)
def test_a_closed_connection_is_a_loss_by_its_reason(reason, is_loss):
    assert bool(notes(line(kind="tm_disconnected", reason_text=reason))) is is_loss


def test_one_loss_that_several_processes_notice_is_one_annotation():
    reason = "The heartbeat of TaskManager with id tm-1:4-d1 timed out."
    [row] = notes(
        line(52, "tm_disconnected", reason_text=reason),
        line(50, "tm_heartbeat_timeout"),
        line(61, "tm_unreachable"),
    )
    assert (row["kind"], row["subject"], row["at"], row["label"]) == (
        "taskmanager_lost",
        "tm-1:4-d1",
        noon(50),
        "TaskManager tm-1:4-d1 lost",
    )
    assert row["detail"]["reason"] == "heartbeat timed out"


def test_a_taskmanager_that_outlived_the_job_is_no_loss_to_it():
    ended = [(noon(-60), "RUNNING"), (noon(0), "CANCELED")]
    assert notes(line(5), states=ended) == []
    assert len(notes(line(-5), states=ended)) == 1


def test_what_came_in_an_earlier_run_is_remembered_and_not_told_twice():
    first = told(JobUpdate("c", JOB, taskmanager_lines=[line(0), line(0)]), JobState(), Settings())
    second = told(
        JobUpdate("c", JOB, taskmanager_lines=[line(0), line(300, container="tm-2:4-d1")]),
        unpacked(first.state.packed()),
        Settings(),
    )
    assert [row["subject"] for row in first.new_annotations] == ["tm-1:4-d1"]
    assert [row["subject"] for row in second.new_annotations] == ["tm-2:4-d1"]
    assert [row["subject"] for row in second.annotations] == ["tm-1:4-d1", "tm-2:4-d1"]
