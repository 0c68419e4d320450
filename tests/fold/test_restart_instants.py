"""When a job restarted is counted for longer than its lines are remembered."""

from spark_jobs.diagnosis.restart_episodes import CHAIN_APART_MS
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.restart_instants import (
    RESTARTS_KEPT,
    first_of_chain,
    restart_instants,
)
from spark_jobs.fold.rows import Row
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import told
from tests.fold.rows import events
from tests.told_logs import JOB, Story, located_rows

NO_SLOTS = (
    "java.util.concurrent.CompletionException: org.apache.flink.runtime.jobmanager.scheduler."
    "NoResourceAvailableException: Could not acquire the minimum required resources.\n"
)
LOST = (
    "java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id tm-1(host-1:6122) "
    "timed "
    "out.\n"
)


def restarting(at: int) -> Row:
    return {"kind": "job_state", "to_state": "RESTARTING", "ts": at}


def marked(at: int) -> Row:
    return {"kind": "restart", "at": at}


def minute_by_minute(rows: list[Row]) -> list[JobResult]:
    """Each with what the run before remembered, packed and unpacked."""
    results, state = [], JobState()
    minutes: dict[int, list[Row]] = {}
    for row in rows:
        minutes.setdefault(row["ts"] // 60_000, []).append(row)
    for _, of_minute in sorted(minutes.items()):
        result = told(JobUpdate("c", JOB, events=events(of_minute)), state, Settings())
        state = unpacked(result.state.packed())
        results.append(result)
    return results


def loops(results: list[JobResult]) -> list[Row]:
    return [
        one
        for result in results
        if result.judgement
        for one in result.judgement["occurrences"]
        if one["rule"] == "restart.loop"
    ]


def test_a_loop_of_a_restart_every_two_seconds_is_known_from_its_beginning() -> None:
    """Of 224 restarts, as lines come in: the cause of now, and the first fault beside it."""
    story = Story().submitted().deployed(1).checkpoint(30, 1).failed(100, LOST).restarts(100.2)
    at = 102.0
    while at < 580:
        story.failed(at, NO_SLOTS, "SCHEDULED").restarts(at + 0.01, 0.5)
        at += 60 / 28
    *_, loop = loops(minute_by_minute(located_rows(story)))
    [episode] = loop["data"]["episodes"]
    assert episode["restarts"] > 200
    assert loop["data"]["causes"] == {"NO_RESOURCE_AVAILABLE": 1}
    assert loop["data"]["first_fault"]["group"] == "TaskManager lost"


def test_an_exact_instant_takes_the_place_of_a_mark_of_the_same_restart() -> None:
    by_mark = restart_instants((), (), [marked(60_000), marked(200_000)])
    assert by_mark == [60_000, 200_000]
    assert restart_instants(by_mark, [restarting(60_400)]) == [60_400, 200_000]


def test_restarts_less_than_a_second_apart_stay_two() -> None:
    close = restart_instants((), [restarting(1_000_100), restarting(1_000_600)])
    assert restart_instants(close, (), [marked(1_000_000)]) == [1_000_100, 1_000_600]


def test_what_is_kept_is_bounded_and_told_again_changes_nothing() -> None:
    many = [restarting(at * 2_000) for at in range(RESTARTS_KEPT + 500)]
    kept = restart_instants((), many)
    assert len(kept) == RESTARTS_KEPT
    assert kept[-1] == many[-1]["ts"]
    assert restart_instants(kept, many[-300:]) == kept


def test_the_first_of_a_chain_has_no_restart_shortly_before() -> None:
    early, late = 1_000_000, 1_000_000 + CHAIN_APART_MS
    assert first_of_chain([]) is None
    span = first_of_chain([early, late, late + 1_000])
    assert span is not None
    assert span[0] < late < span[1]
    assert first_of_chain([early, late - 1]) != span
