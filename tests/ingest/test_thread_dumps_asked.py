"""A collect cycle asks for the thread dumps that somebody wants, where that is switched on for
those of slow tasks, and for no others.
"""

import json
import re
from pathlib import Path

import pytest

from ingest.lake.store import Lake
from ingest.shard_collector import ClusterOutcome
from ingest.sources import ClusterSource
from tests.ingest.flink_rest.serving import Answer, Reply, recorded, told
from tests.ingest.test_shard_collector import serving, shard
from tests.thread_dumps import answers, dumps


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def asked(lake: Lake, reply: Reply, *wanted: str) -> tuple[ClusterOutcome, list[str]]:
    rest = recorded("1.20.5/B")
    answer: Answer = lambda path, headers: reply if "thread-dump" in path else rest(path, headers)  # noqa: E731 (one expression)
    with serving(answer) as [server]:
        [outcome] = shard(lake, ClusterSource("c", server.url, thread_dumps=wanted))
        return outcome, [path for path in server.asked if "thread-dump" in path]


def test_what_nobody_wants_is_not_asked_for(lake: Lake) -> None:
    outcome, paths = asked(lake, told({}))
    assert (outcome.thread_dumps, paths) == ((), [])


def test_a_few_in_a_cycle_are_asked_for_and_read_and_ids_stay_one_part_of_the_address(
    lake: Lake,
) -> None:
    body = dumps("2.3.0", "slow-sync")[0]
    outcome, paths = asked(
        lake, told(body), "host:1-a", "../../jars", *(f"t-{number}" for number in range(9))
    )
    assert paths == [
        f"/taskmanagers/{one}/thread-dump" for one in ("host:1-a", "..%2F..%2Fjars", "t-0", "t-1")
    ]
    assert [len(one.threads or ()) for one in outcome.thread_dumps] == [
        len(body["threadInfos"])
    ] * 4


def test_an_answer_that_is_no_dump_is_the_requests_own_failure(lake: Lake) -> None:
    gone = next(one["body"] for one in answers("1.20.5") if one["status"] == 500)
    for reply in (told(gone, 500), told({"threadInfos": 7}), Reply(b"<html>")):
        outcome, _ = asked(lake, reply, "nobody")
        [one] = outcome.thread_dumps
        assert outcome.reachable
        assert one.threads is None
        assert one.error


@pytest.mark.parametrize(
    ("switched_on", "starts_slowly", "dumped"),
    [(True, True, 1), (False, True, 0), (True, False, 0)],
)
def test_taskmanagers_of_tasks_that_are_slow_to_start_are_dumped_where_that_is_switched_on(
    switched_on: bool, starts_slowly: bool, dumped: int, lake: Lake
) -> None:
    rest, dump = recorded("1.20.5/B"), told(dumps("1.20.5", "slow-sync")[0])

    def answer(path: str, headers: dict[str, str]) -> Reply:
        if "thread-dump" in path:
            return dump
        reply = rest(path, headers)
        return (
            restoring(reply)
            if starts_slowly and re.search(r"/vertices/[0-9a-f]{32}$", path)
            else reply
        )

    with serving(answer) as [server]:
        [outcome] = shard(lake, ClusterSource("c", server.url, dumps_slow_starts=switched_on))
    assert len({one.taskmanager_id for one in outcome.thread_dumps}) >= dumped
    assert bool(outcome.thread_dumps) is bool(dumped) is bool(outcome.starting)
    assert {one.taskmanager_id for one in outcome.thread_dumps} <= {
        task.taskmanager_id for task in outcome.starting
    }


def restoring(reply: Reply) -> Reply:
    """The same vertex, of which no task runs yet."""
    document = json.loads(reply.body)
    for subtask in document.get("subtasks", ()):
        subtask["status"] = "INITIALIZING"
        subtask["status-duration"] |= {"RUNNING": -1}
    return told(document)
