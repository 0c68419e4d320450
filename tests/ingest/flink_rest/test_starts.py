"""When subtasks were scheduled, deployed and ran: out of the answers that tell where they run, once
for each set of attempts.
"""

from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

import pytest

from ingest.errors import Skipped
from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.assembly import observe_job
from ingest.flink_rest.payloads.vertices import STATE_TIMES, start_times
from ingest.records import VertexStart
from tests.ingest.flink_rest.test_collector import Replay, cycle, of_kind, recorded

AT = datetime(2026, 11, 23, tzinfo=UTC)
JOB, VERTEX = "a" * 32, "b" * 32


def subtask(**fields: Any) -> dict[str, Any]:
    lasted = {"CREATED": 9, "SCHEDULED": 100, "DEPLOYING": 20, "INITIALIZING": 3, "RUNNING": 5_000}
    return {
        "subtask": 0,
        "status": "RUNNING",
        "attempt": 0,
        "start-time": 1_000_000,
        "status-duration": lasted,
        **fields,
    }


def at(epoch_ms: int) -> datetime:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def times(*instants: datetime | None) -> dict[str, datetime | None]:
    return dict(zip_longest(STATE_TIMES, instants))


def test_instants_follow_from_the_deployment_and_how_long_each_state_lasted() -> None:
    assert start_times({"subtasks": [subtask()]}) == {
        0: times(at(999_900), at(1_000_000), at(1_000_020), at(1_000_023))
    }


def test_a_state_that_was_never_entered_has_no_instant() -> None:
    deploying = {"SCHEDULED": 100, "DEPLOYING": 20, "INITIALIZING": -1, "RUNNING": -1}
    assert start_times({"subtasks": [subtask(**{"status-duration": deploying})]})[0] == times(
        at(999_900), at(1_000_000), None, None
    )
    waiting = {"subtasks": [subtask(**{"start-time": -1})]}
    assert start_times(waiting) == {0: times()}


def test_before_1_16_only_the_deployment_is_known() -> None:
    old = subtask()
    del old["status-duration"]
    assert start_times({"subtasks": [old]}) == {0: times(None, at(1_000_000))}


@pytest.mark.parametrize("durations", [5, "x", {"DEPLOYING": "soon"}, [1]])
def test_a_bad_shape_is_skipped_with_its_place(durations: Any) -> None:
    with pytest.raises(Skipped, match="subtasks"):
        start_times({"subtasks": [subtask(**{"status-duration": durations})]})


def rows(*subtasks: dict[str, Any]) -> list[VertexStart]:
    reading = JobAnswers(
        JOB,
        vertices={
            VERTEX: Answer(f"/jobs/{JOB}/vertices/{VERTEX}", AT, {"subtasks": list(subtasks)})
        },
    )
    return [
        record
        for part in observe_job(reading, "c", "rest")
        for record in part.records
        if isinstance(record, VertexStart)
    ]


def test_a_start_is_told_when_all_of_its_tasks_run_or_have_run() -> None:
    finished = subtask(subtask=1, status="FINISHED")
    (row,) = rows(subtask(), finished)
    assert row.running_at == (at(1_000_023), at(1_000_023))
    restoring = {"SCHEDULED": 100, "DEPLOYING": 20, "INITIALIZING": 7, "RUNNING": -1}
    assert not rows(
        subtask(), subtask(subtask=1, status="INITIALIZING", **{"status-duration": restoring})
    )
    assert not rows()


def test_one_set_of_attempts_is_told_once_and_asks_nothing_more() -> None:
    first, _ = cycle(recorded("1.20.5/B"))
    second, server = cycle(recorded("1.20.5/B"), first.cursor, after_s=3600)
    assert len(of_kind(first, VertexStart)) == 4
    assert not of_kind(second, VertexStart)
    vertices = [
        path
        for path in server.asked
        if "/vertices/" in path and path.rsplit("/", 2)[1] == "vertices"
    ]
    assert len(vertices) == 4


def test_each_restart_is_told_once_more() -> None:
    replay = Replay("1.20.5/J")
    cursor: dict[str, Any] = {}
    told: list[VertexStart] = []
    for step in range(int(replay.last_at - replay.first_at) // 5):
        found, _ = cycle(recorded("1.20.5/J", replay.first_at + 5 * step), cursor, after_s=5 * step)
        cursor = found.cursor
        told += of_kind(found, VertexStart)
    attempts = [(row.vertex_id, row.attempt) for row in told]
    assert len(attempts) == len(set(attempts)) > 4
