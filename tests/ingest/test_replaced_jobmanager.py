"""Another JobManager answers under the address of one that is known: what was remembered of the old
one hides nothing of the new.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.lake.store import Lake
from ingest.shard_collector import ClusterOutcome, collect_shard
from ingest.sources import ClusterSource
from tests.ingest.flink_rest.serving import Answer, Reply, recorded, told
from tests.ingest.test_shard_collector import rows, serving

START = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
E, OTHER = "1.20.5/E", "1.12.5/G"
JOB = "26eb676de8b3e133f9078fabe3704eb6"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


class Replaced:
    """One address; ``answer`` may become another's."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def __call__(self, path: str, headers: dict[str, str]) -> Reply:
        return self.answer(path, headers)


def cycle(lake: Lake, url: str, cursor: dict[str, Any], after: timedelta) -> ClusterOutcome:
    (outcome,) = collect_shard(
        [ClusterSource("c", url)], {"c": cursor}, lake, at=lambda: START + after
    )
    return outcome


@pytest.mark.parametrize(
    "after",
    [timedelta(seconds=30), timedelta(hours=-3), timedelta(hours=3)],
    ids=["next", "clock back", "clock ahead"],
)
def test_jobs_checkpoints_and_version_of_another_cluster_are_read_at_once(
    lake: Lake, after: timedelta
) -> None:
    address = Replaced(recorded(E))
    with serving(address) as (server,):
        first = cycle(lake, server.url, {}, timedelta())
        address.answer = recorded(OTHER)
        second = cycle(lake, server.url, first.cursor, after)
        asked = server.asked
    assert (first.flink_version, second.flink_version) == ("1.20.5", "1.12.5")
    new = [row for row in rows(lake, "jobs") if row["job_id"] != JOB]
    assert new
    assert {row["flink_version"] for row in new} == {"1.12.5"}
    assert {row["job_id"] for row in rows(lake, "checkpoints")} > {JOB}
    assert {row["job_id"] for row in rows(lake, "vertex_metrics")} > {JOB}
    assert JOB not in second.cursor["rest"]["jobs"]
    assert asked.count("/jobmanager/config") == 2


def younger(known: Answer) -> Answer:
    """The same job, submitted again under its fixed id to another release: ids begin anew, times
    are later.
    """

    def answer(path: str, headers: dict[str, str]) -> Reply:
        reply = known(path, headers)
        if path == "/overview":
            return told({**json.loads(reply.body), "flink-version": "2.1.0"})
        if path == f"/jobs/{JOB}/checkpoints":
            body = json.loads(reply.body)
            for number, entry in enumerate(reversed(body["history"]), start=1):
                entry["id"], entry["trigger_timestamp"] = (
                    number,
                    entry["trigger_timestamp"] + 3_600_000,
                )
            return told({**body, "latest": {}})
        return reply

    return answer


def test_a_job_of_the_same_id_that_counts_from_one_again_is_read_from_one(lake: Lake) -> None:
    address = Replaced(recorded(E))
    with serving(address) as (server,):
        first = cycle(lake, server.url, {}, timedelta())
        before = rows(lake, "checkpoints")
        address.answer = younger(recorded(E))
        second = cycle(lake, server.url, first.cursor, timedelta(seconds=30))
        asked = server.asked
    now = [row for row in rows(lake, "checkpoints") if row not in before]
    assert min(row["checkpoint_id"] for row in now) == 1
    assert {row["flink_version"] for row in now} == {"2.1.0"}
    assert second.flink_version == "2.1.0"
    for path in ("/jobmanager/config", f"/jobs/{JOB}/config", f"/jobs/{JOB}"):
        assert asked.count(path) == 2, path


def test_a_clock_that_is_set_back_between_two_cycles_stops_no_sampling(lake: Lake) -> None:
    with serving(recorded(E)) as (server,):
        first = cycle(lake, server.url, {}, timedelta())
        sampled = len(rows(lake, "vertex_metrics"))
        second = cycle(lake, server.url, first.cursor, timedelta(hours=-5))
        again = len(rows(lake, "vertex_metrics"))
        third = cycle(lake, server.url, second.cursor, timedelta(hours=-5, seconds=3))
    assert again == 2 * sampled
    assert len(rows(lake, "vertex_metrics")) == again, "within the interval nothing is due"
    assert third.reachable
