"""Past minutes hold the log events that rules read, as the windows that Spark makes of them."""

from datetime import timedelta

import pytest

from spark_jobs.diagnosis.registry import diagnose, events_read
from tests.diagnosis.jobs import LIMITS
from tests.played import of_rule
from tests.webapp.builders import T0, event, job
from tests.webapp.placement.recorded import taken_up
from webapp.what_if.past_windows import read_past

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
    event(of, "task_state", T0 - timedelta(minutes=1), reason="TASK_FAILURE", **told("task_state FAILED"))
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
    steps = {one.title for window in past.windows for one in diagnose(window, LIMITS, only=["memory.step_after_restart"]).findings}
    assert steps == {one["title"] for one in of_rule("1.20.5/leaking", "memory.step_after_restart")}
