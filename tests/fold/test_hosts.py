"""What becomes of hosts: placements, declines and expired checkpoints, by hand and recounted from
recordings.
"""

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.fold.hosts import ended_at, host_events, job_hosts
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from spark_jobs.serving import HOST_EVENT, JOB_HOST, TASKMANAGER_LIFE
from tests.first_cycles import served_tables
from tests.fold.pieces import told
from tests.fold.rows import JOB, facts, noon
from tests.ingest.recorded import RECORDINGS


def placed(*hosts, at_s=0, vertex="v1"):
    return {
        "job_id": JOB,
        "vertex_id": vertex,
        "ts": noon(at_s),
        "host": list(hosts),
        "attempt": [0] * len(hosts),
    }


def silent(checkpoint_id, *hosts):
    parts = [
        {
            "vertex_id": "v1",
            "vertex_name": "enrich",
            "subtasks": [0],
            "count": len(hosts),
            "hosts": list(hosts),
        }
    ]
    return facts(
        [
            {
                "checkpoint_id": checkpoint_id,
                "outcome": "expired",
                "end_time": noon(60),
                "not_acknowledged": parts,
            }
        ]
    )[0]


def events(facts=(), placements=()):
    return host_events(facts, (), placements)


def test_a_host_has_the_subtasks_of_the_newest_placement_of_each_vertex():
    rows = job_hosts([placed("a", "b", "b"), placed("a", vertex="v2")])
    assert [
        (row["host"], row["subtasks"], row["slots"], row["vertices"], row["left_at"])
        for row in rows
    ] == [
        ("a", 2, 1, 2, None),
        ("b", 2, 2, 1, None),
    ]


def test_a_host_that_a_job_left_keeps_what_ran_there_and_says_since_when_it_does_not():
    rows = job_hosts([placed("a", "b"), placed("b", "b", at_s=30)])
    assert [
        (row["host"], row["subtasks"], row["left_at"], row["first_seen_at"]) for row in rows
    ] == [
        ("a", 1, noon(30), noon(0)),
        ("b", 2, None, noon(0)),
    ]


def test_a_job_that_ended_runs_nowhere():
    states = [(noon(0), "RUNNING"), (noon(90), "CANCELED")]
    assert [row["left_at"] for row in job_hosts([placed("a", "b")], ended_at(states))] == [
        noon(90),
        noon(90),
    ]
    assert ended_at(states[:1]) is None


def test_hosts_come_out_once_until_a_task_moves():
    first = told(JobUpdate("c", JOB, placements=[placed("a", "b")]), JobState(), Settings())
    again = told(
        JobUpdate("c", JOB, placements=[placed("a", "b", at_s=15)]),
        unpacked(first.state.packed()),
        Settings(),
    )
    moved = told(
        JobUpdate("c", JOB, placements=[placed("b", "b", at_s=30)]),
        unpacked(again.state.packed()),
        Settings(),
    )
    assert [len(one.new_hosts) for one in (first, again, moved)] == [2, 0, 2]


def test_hosts_of_a_job_that_an_earlier_version_remembered_come_out_with_its_next_news():
    from dataclasses import replace

    state = told(JobUpdate("c", JOB, placements=[placed("a")]), JobState(), Settings()).state
    assert told(JobUpdate("c", JOB), replace(state, reported_hosts=None), Settings()).new_hosts


def test_an_expired_checkpoint_counts_on_the_few_hosts_that_had_not_acknowledged():
    wide = [placed(*(f"h{n}" for n in range(20)))]
    assert [row["host"] for row in events([silent(7, "h3", "h4")], placements=wide)] == ["h3", "h4"]
    assert events([silent(7, *(f"h{n}" for n in range(15)))], placements=wide) == []


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What a cycle over recordings of a declining and of a killed cluster serves."""
    names = ("1.20.5/E", "1.20.5/I")
    return {
        name: served_tables(
            RECORDINGS / name,
            tmp_path_factory.mktemp("home"),
            JOB_HOST,
            HOST_EVENT,
            TASKMANAGER_LIFE,
        )
        for name in names
    }


def test_declines_by_host_are_those_of_the_raw_log(served):
    log = (RECORDINGS / "1.20.5/E/logs/flink-standalonesession-0-flink-jm.log").read_text()
    by_hand = Counter(re.findall(r"Decline checkpoint (\d+) by task .* @ (\S+) \(dataPort", log))
    _, happened, _ = served["1.20.5/E"]
    found = Counter(
        (str(row["checkpoint_id"]), row["host"]) for row in happened if row["kind"] == "decline"
    )
    assert len(by_hand) > 5 and found == by_hand


def test_losses_by_host_are_the_kills_of_whoever_played_it(served):
    done = [
        json.loads(text) for text in (RECORDINGS / "1.20.5/I/events.jsonl").read_text().splitlines()
    ]
    killed = sorted(
        (f"flink-tm-{one['tm']}", one["ts"]) for one in done if one["event"] == "tm-kill-9"
    )
    *_, lives = served["1.20.5/I"]
    lost = sorted(
        (row["host"], seconds(row["ended_at"])) for row in lives if row["ended_by"] == "unreachable"
    )
    assert [host for host, _ in lost] == [host for host, _ in killed] and len(killed) == 5
    assert all(0 <= noticed - at < 60 for (_, noticed), (_, at) in zip(lost, killed, strict=True))


@pytest.mark.parametrize("recording", ["1.20.5/E", "1.20.5/I"])
def test_subtasks_by_host_are_those_of_the_last_answers(served, recording):
    """Of hosts that the job left with its end."""
    by_hand = newest_placement(RECORDINGS / recording)
    rows, *_ = served[recording]
    last = max(row["left_at"] for row in rows)
    found = {row["host"]: row["subtasks"] for row in rows if row["left_at"] == last}
    assert found == by_hand


def newest_placement(folder: Path) -> dict[str, int]:
    """Subtasks by host, of each vertex as the newest answer that names hosts has them."""
    newest: dict[str, Counter[str]] = {}
    for text in (folder / "rest.jsonl").read_text().splitlines():
        told = json.loads(text)
        path = re.fullmatch(r"/jobs/[0-9a-f]{32}/vertices/([0-9a-f]{32})", told["path"])
        if path and told["status"] == 200:
            hosts = [
                (one.get("endpoint") or one["host"]).partition(":")[0]
                for one in told["body"]["subtasks"]
            ]
            if "(unassigned)" not in hosts:
                newest[path[1]] = Counter(hosts)
    return dict(sum(newest.values(), Counter()))


def seconds(instant: datetime | int) -> float:
    return (
        instant.replace(tzinfo=instant.tzinfo or UTC).timestamp()
        if isinstance(instant, datetime)
        else instant / 1000
    )
