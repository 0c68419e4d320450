"""checkpoint.sync and checkpoint.async as a real Flink played them; expected figures are taken from
its raw answers.
"""

import re
from math import ceil
from typing import Any, NamedTuple

import pytest

from spark_jobs.diagnosis import registry
from tests.diagnosis.graphs import LIMITS
from tests.played import answers, evidence, occurrences, of_rule, vertices
from tests.windows import recorded_windows

CHECKPOINT = r"/jobs/[0-9a-f]{32}/checkpoints/details/([0-9]+)"
SLOW_MS = {"sync": 3_000, "async": 30_000}
PLAYED = [
    ("1.20.5/slow-sync", "sync"),
    ("2.3.0/slow-sync", "sync"),
    ("1.20.5/slow-storage", "async"),
    ("2.3.0/slow-storage", "async"),
]


class Slowest(NamedTuple):
    """The subtask of a completed checkpoint that acknowledged last, as Flink answered."""

    vertex: str
    subtask: int
    host: str
    sync_ms: int
    async_ms: int
    end_to_end_ms: int
    ended_ms: int


def slowest(played: str) -> dict[int, Slowest]:
    names, hosts, whole = {id: name for name, id in vertices(played).items()}, {}, {}
    for answer in answers(played, r"/jobs/[0-9a-f]{32}/vertices/([0-9a-f]{32})"):
        hosts[answer.found[0]] = [
            one["endpoint"].rpartition(":")[0] for one in answer.body["subtasks"]
        ]
    for answer in answers(played, CHECKPOINT):
        if answer.body["status"] == "COMPLETED":
            whole[answer.found[0]] = answer.body
    last: dict[int, Slowest] = {}
    for (number, vertex_id), body in {
        one.found: one.body for one in answers(played, CHECKPOINT + r"/subtasks/([0-9a-f]{32})")
    }.items():
        for one in body["subtasks"] if number in whole else ():
            known, took = last.get(int(number)), one["checkpoint"]
            if known is None or one["end_to_end_duration"] > known.end_to_end_ms:
                last[int(number)] = Slowest(
                    names[vertex_id],
                    one["index"],
                    hosts[vertex_id][one["index"]],
                    took["sync"],
                    took["async"],
                    one["end_to_end_duration"],
                    whole[number]["latest_ack_timestamp"],
                )
    return last


def duration_ms(played: str) -> dict[int, int]:
    ended = {
        int(one.found[0]): one.body
        for one in answers(played, CHECKPOINT)
        if one.body["status"] == "COMPLETED"
    }
    return {number: body["end_to_end_duration"] for number, body in ended.items()}


def nearest_rank(values: list[int], share: float) -> int:
    return sorted(values)[ceil(share * len(values)) - 1]


@pytest.mark.parametrize(("played", "phase"), PLAYED)
def test_the_phase_its_operator_subtask_and_host_are_those_that_flink_reports(
    played: str, phase: str
) -> None:
    by_flink, whole = slowest(played), duration_ms(played)
    newest = of_rule(played, f"checkpoint.{phase}")[-1]
    slow = [
        number
        for number, one in sorted(by_flink.items())
        if getattr(one, f"{phase}_ms") >= SLOW_MS[phase]
    ]
    assert newest["data"]["checkpoints"] == slow and len(slow) >= 2
    for one in newest["data"]["slowest"]:
        told = by_flink[one["checkpoint_id"]]
        assert (one["vertex_name"], one["subtask"], one["host"]) == (
            told.vertex,
            told.subtask,
            told.host,
        )
        assert (one["phase_ms"], one["end_to_end_ms"]) == (
            getattr(told, f"{phase}_ms"),
            whole[one["checkpoint_id"]],
        )
    assert {one["vertex_name"] for one in newest["data"]["slowest"]} == {"enrich"}
    name = {"sync": "synchronous part", "async": "asynchronous part"}[phase]
    assert evidence(newest, name) == nearest_rank(
        [getattr(one, f"{phase}_ms") for one in by_flink.values()], 0.95
    )
    assert evidence(newest, "end to end") == nearest_rank(list(whole.values()), 0.95)


@pytest.mark.parametrize("played", ["1.20.5/slow-sync", "2.3.0/slow-sync"])
def test_a_slow_synchronous_part_is_of_the_one_subtask_that_has_it(played: str) -> None:
    newest = of_rule(played, "checkpoint.sync")[-1]
    assert {one["subtask"] for one in newest["data"]["slowest"]} == {0}
    assert evidence(newest, "slowest subtask") == "enrich/0"


@pytest.mark.parametrize(("played", "phase"), PLAYED)
def test_no_other_phase_is_blamed(played: str, phase: str) -> None:
    phases = {
        "checkpoint.sync",
        "checkpoint.async",
        "checkpoint.alignment",
        "checkpoint.start_delay",
    }
    assert {one["rule"] for one in occurrences(played)} & phases == {f"checkpoint.{phase}"}


@pytest.mark.parametrize("name", ["1.20.5-A", "1.20.5-B", "1.20.5-F", "1.20.5-G", "1.20.5-L2"])
def test_neither_is_blamed_where_checkpoints_are_fast_or_wait_for_barriers(name: str) -> None:
    """Healthy, back-pressured, expiring, with savepoints, unaligned: in B they take 25 s, all of it
    before the snapshot begins.
    """
    rules = ("checkpoint.sync", "checkpoint.async")
    found: list[Any] = [
        one
        for window in recorded_windows(name)
        for one in registry.diagnose(window, LIMITS, rules).findings
    ]
    assert found == []


@pytest.mark.parametrize("played", ["1.20.5/busy-source", "2.3.0/busy-source"])
def test_a_source_whose_thread_is_blocked_starts_late_by_what_flink_reports_of_it(
    played: str,
) -> None:
    """checkpoint.start_delay.

    The slowest subtask is another one: no barrier comes to it before the source has started.
    """
    (source,) = (id for name, id in vertices(played).items() if name.startswith("Source:"))
    delays = {
        int(found[0]): max(one["start_delay"] for one in body["subtasks"])
        for found, body in {
            one.found: one.body for one in answers(played, CHECKPOINT + r"/subtasks/([0-9a-f]{32})")
        }.items()
        if found[1] == source and all(one["status"] == "completed" for one in body["subtasks"])
    }
    findings = of_rule(played, "checkpoint.start_delay")
    assert findings
    for finding in findings:
        told = finding["data"]["source"]
        assert (told["vertex_id"], told["subtask"]) == (source, 0)
        assert (
            evidence(finding, "start delay of the source") == delays[told["checkpoint_id"]] > 8_000
        )
        assert "A source receives the trigger itself" in finding["cause"]
        assert slowest(played)[told["checkpoint_id"]].vertex != told["name"]


@pytest.mark.parametrize(
    "played", ["1.20.5/slow-sync", "1.20.5/slow-storage", "1.20.5/slow-network", "2.3.0/slow-sync"]
)
def test_a_source_that_starts_in_time_is_named_by_no_rule(played: str) -> None:
    assert not [one for one in of_rule(played, "checkpoint.start_delay") if one["data"]["source"]]


@pytest.mark.parametrize(
    "played",
    [
        "1.20.5/expired",
        "2.3.0/expired",
        *(
            f"{release}/late-sync:lab-late-{phase}"
            for release in ("1.17.2", "2.1.1")
            for phase in ("sync", "async")
        ),
    ],
)
def test_tasks_that_report_after_the_time_out_say_which_phase_took_so_long(played):
    """REST lists their parts as completed and aborted; an asynchronous part that was cut off as -1."""
    newest = {}
    path = r"/jobs/[0-9a-f]{32}/checkpoints/details/(\d+)/subtasks/([0-9a-f]{32})"
    for answer in answers(played, path):
        newest[answer.found] = answer.body
    late = {}
    for (checkpoint_id, vertex_id), body in newest.items():
        parts = [
            part
            for part in body["subtasks"]
            if part.get("aborted") and part["status"] == "completed"
        ]
        if parts:
            slowest = max(parts, key=lambda part: part["end_to_end_duration"])
            took = {
                "start_delay": slowest["start_delay"],
                "alignment": slowest["alignment"]["duration"],
                "sync": slowest["checkpoint"]["sync"],
            }
            cut_off = slowest["checkpoint"]["async"] < 0
            left = slowest["end_to_end_duration"] - sum(took.values())
            took["async"] = left if cut_off else slowest["checkpoint"]["async"]
            late[int(checkpoint_id), vertex_id] = (len(parts), max(took, key=took.get))
    findings = of_rule(played, "checkpoint.expired")
    assert late and findings
    for finding in findings:
        # Of those that it names, the newest of which a task reported so late.
        newest_late = max((id for id, _ in late if id in finding["data"]["checkpoints"]), default=0)
        phases = {phase for (id, _), (_, phase) in late.items() if id == newest_late}
        assert not newest_late or phases == {finding["data"]["phase"]}
        words = re.findall(r"after the time-out of checkpoint (\d+): ", finding["cause"])
        assert words in ([], [str(newest_late)])
        assert words or not newest_late or "barrier" in finding["cause"]


@pytest.mark.parametrize("release", ["1.17.2", "2.1.1"])
@pytest.mark.parametrize(
    ("phase", "advice"),
    [
        ("sync", "Look at the local disk of the hosts named"),
        ("async", "Check the checkpoint storage"),
    ],
)
def test_advice_is_of_the_phase_and_nothing_that_reported_is_said_to_hang(release, phase, advice):
    found = of_rule(f"{release}/late-sync:lab-late-{phase}", "checkpoint.expired")
    assert found
    for one in found:
        assert one["data"]["phase"] == phase
        assert one["next_step"].startswith(advice)
        assert "hung" not in one["cause"] and "stuck" not in one["cause"]
        assert one["data"]["progress"] != "hung"


def test_triggers_that_were_refused_are_no_failed_checkpoints_and_seconds_after_a_rescale_nobody_waits():
    """Before all tasks ran, Flink refused three: it counts them as failed, and lists none."""
    told = [one.body for one in answers("2.1.1/rescaled", "/jobs/[0-9a-f]{32}/checkpoints")]
    assert told[-1]["counts"]["failed"] == 3
    assert "FAILED" not in {one["status"] for body in told for one in body["history"]}
    assert occurrences("2.1.1/rescaled") == []
