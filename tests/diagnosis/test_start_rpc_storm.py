"""start.rpc_storm on what a real Flink logged with an ask time-out of milliseconds, recounted from
its raw logs; and where it is silent.
"""

import gzip
import re
from collections import Counter

import pytest

from spark_jobs.diagnosis.samples import LogEvent, Vertex
from tests.diagnosis.jobs import found, ms, window
from tests.played import FOLDER, occurrences, of_rule
from tests.selections import mostly_long

RULE = "start.rpc_storm"
PLAYED = sorted(path.parent.name for path in FOLDER.glob("*/short-ask"))
SLOW_JAR = sorted(path.parent.name for path in FOLDER.glob("*/slow-jar"))
RETRY = re.compile(
    r"^(\S+ [0-9:]{8}),\d+ DEBUG \S+SingleInputGate +\[\] - (.+) \([0-9a-f_]+\): Retriggering",
    re.MULTILINE,
)


@pytest.mark.parametrize("version", PLAYED)
def test_calls_that_time_out_while_tasks_are_deployed_are_counted_as_the_logs_have_them(version):
    """By hand: requests for slots that failed, and tasks whose failure names a time-out, each
    attempt once.
    """
    told = of_rule(f"{version}/short-ask", RULE)
    assert told
    text = "\n".join(
        gzip.decompress(path.read_bytes()).decode()
        for path in (FOLDER / version / "short-ask" / "logs").iterdir()
    )
    records = re.split(r"\n(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} )", text)
    timed_out = [
        one
        for one in records
        if "AskTimeoutException" in one or "PartitionNotFoundException" in one
    ]
    refused = sorted(
        (one for one in records if "Slot allocation for allocation" in one.partition("\n")[0]),
        key=lambda one: one[:23],
    )
    slots = [one[:19] for one in refused if one in timed_out]
    failed_task = re.compile(r"\(([0-9a-f]{32}_[0-9a-f]{32}_\d+_\d+)\) switched from \w+ to FAILED")
    attempts = {
        match[1]: one[:19]
        for one in timed_out
        if (match := failed_task.search(one.partition("\n")[0]))
    }
    newest = max(
        told,
        key=lambda one: (
            one["data"]["slots"] + one["data"]["deployments"] + one["data"]["partitions"]
        ),
    )
    data = newest["data"]
    # A window holds the newest 200 of each kind; requests are refused for other reasons, too.
    assert data["slots"] == sum(one in timed_out for one in refused[-200:])
    assert data["deployments"] + data["partitions"] == min(len(attempts), 200)
    assert data["worst_second"] == Counter([*slots, *attempts.values()]).most_common(1)[0][1]


@pytest.mark.parametrize("version", SLOW_JAR)
def test_requests_for_the_state_of_partitions_are_counted_as_taskmanagers_log_them(version):
    """One TaskManager fetched the jar slowly; nothing failed.

    A window holds the newest 200 of them.
    """
    told = of_rule(f"{version}/slow-jar", RULE)
    text = "\n".join(
        gzip.decompress(path.read_bytes()).decode()
        for path in (FOLDER / version / "slow-jar" / "logs").iterdir()
    )
    logged = RETRY.findall(text)
    assert told
    newest = max(told, key=lambda one: one["window_start"])
    seen = sorted(logged)[-200:]
    assert newest["data"] == {
        "state_requests_worst_second": max(Counter(second for second, _ in seen).values()),
        "tasks_asking": len({task for _, task in seen}),
    }
    assert {one["severity"] for one in told} == {"info"}
    assert "restart.loop" not in {one["rule"] for one in occurrences(f"{version}/slow-jar")}


def asked(at, number):
    return LogEvent(
        ms(at), "partition_state_request", vertex_id="b", subtask=number % 10, attempt=0
    )


def test_few_requests_for_the_state_of_partitions_in_a_second_are_no_storm():
    spread = tuple(asked(10 + number // 49, number) for number in range(196))
    assert not found(window(at=60, events=spread), RULE)
    [finding] = found(window(at=60, events=(*spread, asked(10, 3))), RULE)
    assert finding.data == {"state_requests_worst_second": 50, "tasks_asking": 10}
    assert not found(window(at=1_000, events=(*spread, asked(10, 3))), RULE)


@pytest.mark.parametrize("version", PLAYED)
def test_checkpoints_of_that_job_are_deleted_when_it_is_cancelled(version):
    """It was played with DELETE_ON_CANCELLATION; no other incident was."""
    assert of_rule(f"{version}/short-ask", "checkpoint.deleted_on_cancel")


@pytest.mark.parametrize(
    "played",
    mostly_long(
        [
            "1.20.5/few-buffers",
            "1.20.5/rescaled",
            "2.3.0/lost-file",
            "2.3.0/slow-restore",
            "2.3.0/rescaled",
            "1.20.5/many-tasks",
            "2.3.0/many-tasks",
        ],
        short=4,
    ),
)
def test_other_failures_while_jobs_are_deployed_are_no_storm(played):
    """Of many-tasks a few consumers asked for the state of partitions."""
    assert {RULE, "checkpoint.deleted_on_cancel", "checkpoint.uploads_after_end"}.isdisjoint(
        one["rule"] for one in occurrences(played)
    )


def failed(at, number, reason="RPC_TIMEOUT"):
    return LogEvent(
        ms(at),
        "task_state",
        vertex_id="b",
        subtask=number,
        attempt=0,
        reason=reason,
        fields={"to_state": "FAILED"},
    )


def test_it_takes_as_many_as_a_share_of_the_tasks():
    large = {"vertices": (Vertex("a", "a", 100), Vertex("b", "b", 200))}
    few = [failed(10, number) for number in range(5)]
    assert not found(window(at=60, events=tuple(few), **large), RULE)
    [finding] = found(
        window(at=60, events=tuple(failed(10, number) for number in range(6)), **large), RULE
    )
    assert finding.data["worst_second"] == 6
    assert not found(
        window(
            at=60,
            events=tuple(failed(10, number, "OUT_OF_MEMORY") for number in range(50)),
            **large,
        ),
        RULE,
    )


def test_the_same_failure_in_two_logs_is_one():
    assert not found(window(at=60, events=(failed(10, 1), failed(10, 1), failed(11, 2))), RULE)
