"""A collect cycle asks for the thread dumps that somebody wants, and for no others."""

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
