"""Outages around restarts, against the raw lines of the JobManager's log."""

import gzip
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from spark_jobs.fold.downtime import outages
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.retention import EVENTS_KEPT
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import split, told
from tests.fold.recorded import recorded_job
from tests.fold.rows import events, noon
from tests.raw_outages import RECORDINGS, raw_outages

PARTS = ("cancel", "wait", "failed_attempts", "redeploy", "restore")


def restarts(result: JobResult) -> list[dict[str, Any]]:
    return [
        row["detail"]
        for row in sorted(result.annotations, key=lambda row: row["at"])
        if row["kind"] == "restart"
    ]


@pytest.mark.parametrize("recording", ["1.20.5/I", "1.20.5/J"])
def test_an_outage_ends_when_all_tasks_run_again(recording: str) -> None:
    """J: five failures; I: TaskManagers killed five times, each with restarts until there are
    slots.
    """
    raw = [(one.begun_ms, one.ended_ms) for one in raw_outages(recording)]
    assert len(raw) >= 4
    result = told(recorded_job(recording), JobState(), Settings())
    assert [(one["at"], one["ended_at"]) for one in result.state.outages] == raw
    told_of = [one for one in restarts(result) if "downtime_ms" in one]
    assert [one["downtime_ms"] for one in told_of] == [ended - begun for begun, ended in raw]
    for one in told_of:
        assert sum(one["parts_ms"][name] or 0 for name in PARTS) == one["downtime_ms"]
        assert all((one["parts_ms"][name] or 0) >= 0 for name in ("detect", *PARTS))


def test_the_first_outage_of_a_failing_job_is_told_with_its_parts() -> None:
    """1.20.5/J, 04:19:22,893 RESTARTING, 24,976 RUNNING, 25,415 all tasks run."""
    result = told(recorded_job("1.20.5/J"), JobState(), Settings())
    first = restarts(result)[0]
    assert (first["downtime_ms"], first["parts_ms"]["detect"]) == (2_522, 26)
    assert first["parts_ms"]["cancel"] + first["parts_ms"]["wait"] == 2_083
    label = next(row["label"] for row in result.annotations if row["kind"] == "restart")
    assert label.startswith("restart: down 2.5 s (detect 26 ms, cancel ") and "restore" in label


def test_restarts_within_an_outage_are_no_downtime_of_their_own() -> None:
    details = restarts(told(recorded_job("1.20.5/I"), JobState(), Settings()))
    whole = [one for one in details if "downtime_ms" in one]
    assert sum(one["restarts"] for one in whole) > len(whole)
    assert sum("outage_began_at" in one for one in details) == sum(
        one["restarts"] - 1 for one in whole
    )


@pytest.mark.parametrize("cut", range(0, 70, 7))
def test_a_log_that_comes_in_pieces_tells_the_same(cut: int) -> None:
    job = recorded_job("1.20.5/J")
    at = min(event["ts"] for event in job.events) + cut * 1_000
    early, late = split(job, lambda row: (row.get("ts") or row.get("observed_at")) < at)
    first = told(early, JobState(), Settings())
    second = (
        told(late, unpacked(first.state.packed()), Settings())
        if cut
        else told(job, JobState(), Settings())
    )
    assert list(second.state.outages) == list(told(job, JobState(), Settings()).state.outages)


def test_rest_alone_knows_the_least_downtime() -> None:
    job = replace(recorded_job("1.20.5/J"), events=[])
    details = restarts(told(job, JobState(), Settings()))
    assert len(details) == 5
    assert all("downtime_ms" not in one for one in details)
    assert all(1_900 < one["downtime_at_least_ms"] < 2_200 for one in details)


def task(at_s: float, state: str, subtask: int) -> dict[str, Any]:
    return {
        "kind": "task_state",
        "to_state": state,
        "task": "map",
        "subtask": subtask,
        "ts": noon(at_s),
    }


def job_state(at_s: float, state: str) -> dict[str, Any]:
    return {"kind": "job_state", "to_state": state, "ts": noon(at_s)}


RESTARTED = [
    task(1, "FAILED", 0),
    job_state(2, "RESTARTING"),
    task(3, "CANCELED", 1),
    job_state(5, "RUNNING"),
    task(6, "RUNNING", 0),
    task(9, "RUNNING", 1),
]


def test_before_1_14_redeploying_lasts_until_all_tasks_run() -> None:
    (one,) = outages(events(RESTARTED), (), ())
    assert (one["at"], one["ended_at"], one["downtime_ms"], one["detect_ms"]) == (
        noon(2),
        noon(9),
        7_000,
        1_000,
    )
    assert one["parts_ms"] == {
        "cancel": 1_000,
        "wait": 2_000,
        "failed_attempts": None,
        "redeploy": 4_000,
        "restore": None,
    }


def test_a_task_that_does_not_run_again_leaves_the_outage_open() -> None:
    assert outages(events(RESTARTED[:-1]), (), ()) == []
    assert (
        outages(
            events([*RESTARTED[:-1], job_state(8, "CANCELLING"), task(9, "RUNNING", 1)]), (), ()
        )
        == []
    )


def test_what_was_told_stays_when_its_lines_are_forgotten() -> None:
    known = outages(events(RESTARTED), (), ())
    left = events(
        [RESTARTED[1], *(task(7_200 + n / 100, "RUNNING", n) for n in range(EVENTS_KEPT))]
    )
    assert outages([*left, *events([job_state(7_300, "RESTARTING")])], left, known) == known


@pytest.fixture(params=["1.20.5", "2.3.0"])
def rescaled(request: pytest.FixtureRequest) -> str:
    """Recording under the adaptive scheduler."""
    return f"../incidents/{request.param}/rescaled"


def raw_rescale(rescaled: str) -> tuple[int, int, int]:
    """By the log: when the job was CANCELLING and CANCELED, and when the last task of the next
    graph ran.
    """
    (log,) = (RECORDINGS / rescaled / "logs").glob("*standalonesession*")
    found = re.findall(
        r"^(\S+ \S+) INFO .*ExecutionGraph.* switched from (state )?\w+ to (\w+)",
        gzip.decompress(log.read_bytes()).decode(),
        re.MULTILINE,
    )
    at = [
        (
            round(
                datetime.strptime(one, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp()
                * 1000
            ),
            *rest,
        )
        for one, *rest in found
    ]
    of_job = {state: ms for ms, of, state in at if of}
    return (
        of_job["CANCELLING"],
        of_job["CANCELED"],
        max(ms for ms, of, state in at if not of and state == "RUNNING"),
    )


def test_a_restart_under_the_adaptive_scheduler_is_an_outage_and_no_end_of_the_job(
    rescaled: str,
) -> None:
    """It cancels what runs and makes another graph; two of the tasks do not come back, since it has
    fewer then.
    """
    begun, cancelled, ended = raw_rescale(rescaled)
    result = told(recorded_job(rescaled), JobState(), Settings())
    assert [(one["at"], one["ended_at"]) for one in result.state.outages] == [(begun, ended)]
    (detail,) = restarts(result)
    assert (detail["downtime_ms"], detail["parts_ms"]["cancel"]) == (
        ended - begun,
        cancelled - begun,
    )
    assert sum(detail["parts_ms"][name] or 0 for name in PARTS) == detail["downtime_ms"]
    assert [row for row in result.annotations if row["kind"] == "terminal"] == []
    assert (result.current["state"], result.current["terminal"]) == ("RUNNING", False)


@pytest.mark.parametrize("cut_s", [0, 20, 40])
def test_states_that_flinks_events_repeat_are_those_of_the_log(cut_s: int) -> None:
    job = recorded_job("1.20.5/J")
    repeated = [
        {**event, "from_state": None, "process": "events", "ts": event["ts"] + 3}
        for event in job.events
        if event["kind"] == "job_state"
    ]
    assert repeated
    both = replace(job, events=[*job.events, *repeated])
    at = min(event["ts"] for event in job.events) + cut_s * 1_000
    early, late = split(both, lambda row: (row.get("ts") or row.get("observed_at")) < at)
    before = unpacked(told(early, JobState(), Settings()).state.packed())
    result, expected = told(late, before, Settings()), told(job, JobState(), Settings())
    assert result.state.outages == expected.state.outages
    assert result.state.restarts == expected.state.restarts
    assert result.current["restarts"] == expected.current["restarts"]
    assert result.annotations == expected.annotations


@pytest.mark.parametrize("cut_ms", [0, 100, 250, 290, 700])
def test_its_log_tells_the_same_in_pieces_and_never_an_end(rescaled: str, cut_ms: int) -> None:
    """Cut between CANCELLING, CANCELED, RUNNING and the last task that runs; REST is silent."""
    job, at = replace(recorded_job(rescaled), answers=[]), raw_rescale(rescaled)[0] + cut_ms
    early, late = split(job, lambda row: (row.get("ts") or row.get("observed_at")) < at)
    first = told(early, JobState(), Settings())
    second = told(late, unpacked(first.state.packed()), Settings())
    assert list(second.state.outages) == list(told(job, JobState(), Settings()).state.outages) != []
    for one in (first, second):
        assert not one.current["terminal"]
        assert not any(row["kind"] == "terminal" for row in one.annotations)


def test_rest_alone_dates_its_restart_by_the_graph_that_was_made_anew(rescaled: str) -> None:
    result = told(replace(recorded_job(rescaled), events=[]), JobState(), Settings())
    ((at, detail),) = [
        (row["at"], row["detail"]) for row in result.annotations if row["kind"] == "restart"
    ]
    cancelled = raw_rescale(rescaled)[1]
    assert cancelled // 1000 * 1000 <= at <= cancelled + 1_000
    assert 0 < detail["downtime_at_least_ms"] < raw_rescale(rescaled)[2] - cancelled
