"""Past minutes hold the log events that rules read, as the windows that Spark makes of them."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from spark_jobs.diagnosis.registry import diagnose, events_read
from tests.diagnosis.jobs import LIMITS
from tests.played import answers, of_rule
from tests.webapp.builders import T0, event, job
from tests.webapp.placement.recorded import taken_up
from webapp.alerting.what_if.past_windows import read_past

pytestmark = pytest.mark.django_db


def told(kind: str) -> dict[str, object]:
    """A line of a kind as rules declare it."""
    _name, _, state = kind.partition(" ")
    return {"fields": {"to_state": state}} if state else {}


@pytest.fixture
def of():
    return job(at=T0)


def seen(of):
    past = read_past(of, T0 - timedelta(minutes=10), T0, ("restart",))
    return [one.rule_kind for one in past.windows[-1].events]


@pytest.mark.parametrize("kind", sorted(events_read()))
def test_what_rules_read_is_there(of, kind):
    event(of, kind.split(" ")[0], T0 - timedelta(minutes=1), **told(kind))
    assert seen(of) == [kind]


def test_a_failed_task_is_there_whatever_reason_was_read_from_its_trace(of):
    event(
        of,
        "task_state",
        T0 - timedelta(minutes=1),
        reason="TASK_FAILURE",
        **told("task_state FAILED"),
    )
    assert seen(of) == ["task_state FAILED"]


def test_what_no_rule_reads_is_not(of):
    event(of, "task_deployed", T0 - timedelta(minutes=1))
    event(of, "task_state", T0 - timedelta(minutes=1), **told("task_state SCHEDULED"))
    event(of, "job_submitted", T0 - timedelta(minutes=1))
    assert seen(of) == ["task_deployed"]


def test_a_state_is_known_from_lines_that_no_rule_reads(of):
    event(of, "job_terminal", T0 - timedelta(minutes=5), fields={"to_state": "FAILED"})
    past = read_past(of, T0 - timedelta(minutes=10), T0, ("restart",))
    assert [one.state for one in past.windows][:1] == ["FAILED"]


def test_memory_that_restarts_leave_behind_is_judged_as_the_cycle_did(home):
    (job,) = taken_up("incidents/1.20.5/leaking", home)
    past = read_past(job, job.start_time, job.last_seen_at, ["memory"])
    steps = {
        one.title
        for window in past.windows
        for one in diagnose(window, LIMITS, only=["memory.step_after_restart"]).findings
    }
    assert steps == {one["title"] for one in of_rule("1.20.5/leaking", "memory.step_after_restart")}


@pytest.mark.parametrize("recording", ["1.20.5/full-heap", "2.3.0/full-heap"])
def test_collections_of_a_real_jvm_explain_the_vertex_that_holds_others(home, recording):
    """A real heap that is nearly full; that its vertex holds others is supposed, as nothing did on
    that machine.
    """
    (job,) = taken_up(f"incidents/{recording}", home)
    windows = read_past(job, job.start_time, job.last_seen_at, ["memory", "pressure"]).windows
    (enrich,) = [vertex.vertex_id for vertex in windows[-1].vertices if vertex.name == "enrich"]
    found = [
        one
        for window in windows
        for one in diagnose(held_by(window, enrich), LIMITS, only=["pressure.root"]).findings
    ]
    said = {
        one.value
        for finding in found
        for one in finding.evidence
        if one.name.endswith(" in collections")
    }
    assert said
    counted = {
        ratio
        for ratios in collected_by_minute(recording, job.last_seen_at.timestamp()).values()
        for ratio in ratios
    }
    assert all(any(value == pytest.approx(ratio, rel=0.02) for ratio in counted) for value in said)
    assert max(said) > 0.2
    assert any("collected garbage for" in finding.cause for finding in found)


def held_by(window, vertex_id):
    held = [
        replace(
            one, busy_ratio=(0.95,) * 2, backpressured_ratio=(0.0,) * 2, in_pool_usage=(1.0,) * 2
        )
        if one.vertex_id == vertex_id
        else replace(one, busy_ratio=(0.1,) * 2, backpressured_ratio=(0.9,) * 2)
        for one in window.vertex_windows
        if window.vertex_name(one.vertex_id) in ("enrich", "parse")
    ]
    return replace(window, vertex_windows=tuple(held))


def collected_by_minute(recording, until):
    """TaskManager → share of the time in collections from the last answer of one minute to that of
    the next, as Flink answered.
    """
    last = {}
    for one in answers(recording, "/taskmanagers/([^/?]+)"):
        if one.at <= until and one.body["metrics"]["heapCommitted"]:
            ms = sum(
                gc["time"] for gc in one.body["metrics"]["garbageCollectors"] if gc["name"] != "All"
            )
            last.setdefault(one.found[0], {})[int(one.at // 60)] = one.at, ms
    return {
        name: [
            (after[1] - before[1]) / (after[0] - before[0]) / 1000
            for before, after in pairwise(of_minutes.values())
        ]
        for name, of_minutes in last.items()
    }
