"""Pods that an API server lists, in the findings of a job that waits for its TaskManagers."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.failure_causes.table import cause_by_code
from spark_jobs.diagnosis.samples import Annotation, JobStart
from tests.diagnosis.jobs import checkpoint, event, failure, found, minutely, ms, restart, window

LOST, START, LOOP = "restart.taskmanager_lost", "start.workers_lost", "restart.loop"
POD = "orders-taskmanager-1-1"
NO_NODE = "Unschedulable: 0/3 nodes are available: 3 Insufficient memory."
OOM = "on node worker-3 2026-11-20 08:01:40 UTC: exitCode=137, reason=OOMKilled, memory limit 4Gi"


def pod_event(at, kind, reason="on node worker-3", name="orders-taskmanager-1-2"):
    return event(at, kind, container=name, fields={"reason_text": reason})


def lost(*events, reason=OOM):
    """Since 600 s, judged at 700 s."""
    loss = Annotation(ms(600), "taskmanager_lost", POD, detail={"reason": reason})
    annotations = (restart(600), loss)
    return window(*minutely(10), at=700, state="RESTARTING", annotations=annotations, events=events)


def step(code):
    return str(cause_by_code(code).next_step)


def values(finding):
    return {str(evidence.name): evidence.value for evidence in finding.evidence}


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (OOM, "CONTAINER_OUT_OF_MEMORY"),
        ("reason=Evicted: The node was low on resource: memory.", "POD_EVICTED"),
        ("DisruptionTarget, reason=PreemptionByScheduler: preempting", "POD_EVICTED"),
    ],
)
def test_the_end_of_its_container_is_the_cause_of_a_loss_and_says_what_to_do(reason, code):
    [finding] = found(lost(reason=reason), LOST)
    assert (finding.data["cause"], finding.next_step) == (code, step(code))
    assert values(finding)["end of the newest"] == reason and reason in finding.cause


def test_a_loss_by_heartbeat_alone_has_no_cause():
    [finding] = found(lost(reason="heartbeat timed out"), LOST)
    assert finding.data["cause"] == "UNKNOWN" and "OOMKilled" in finding.next_step


def test_a_pod_that_waits_in_place_of_the_lost_taskmanager_is_what_to_look_at_first():
    [finding] = found(lost(pod_event(605, "pod_waiting", NO_NODE)), LOST)
    assert finding.next_step == step("POD_UNSCHEDULABLE")
    assert NO_NODE in finding.cause and values(finding)["pods that wait"] == 1


@pytest.mark.parametrize("kind", ["pod_started", "pod_removed"])
def test_a_pod_that_has_started_since_or_is_gone_waits_no_more(kind):
    [finding] = found(lost(pod_event(605, "pod_waiting", NO_NODE), pod_event(640, kind)), LOST)
    assert "pods that wait" not in values(finding)


def starting(*events, at=300, **more):
    more = {"start_time_ms": ms(0)} | more
    return window(at=at, events=(event(1, "job_state"), *events), **more)


UNSCHEDULED = pod_event(10, "pod_waiting", NO_NODE)


def test_a_job_that_waits_for_pods_says_which_and_why():
    [finding] = found(starting(UNSCHEDULED, pod_event(11, "pod_waiting", NO_NODE, POD)), START)
    assert (finding.severity, finding.data["cause"]) == ("critical", "POD_UNSCHEDULABLE")
    assert {related.subject for related in finding.related} == {POD, "orders-taskmanager-1-2"}
    assert NO_NODE in finding.cause and finding.next_step == step("POD_UNSCHEDULABLE")


def test_a_container_that_ends_again_and_again_waits_for_the_reason_of_its_last_end():
    back_off = pod_event(60, "pod_waiting", "CrashLoopBackOff: back-off 5m0s")
    ended = pod_event(
        60, "pod_ended", "on node n 2026-11-20 08:01:00 UTC: exitCode=137, reason=Error"
    )
    [finding] = found(starting(back_off, pod_event(50, "pod_started"), ended), START)
    assert finding.data["cause"] == "CONTAINER_KILLED"


@pytest.mark.parametrize(
    "judged",
    [
        starting(UNSCHEDULED, at=189),
        starting(UNSCHEDULED, pod_event(200, "pod_started")),
        replace(starting(UNSCHEDULED), checkpoints=(checkpoint(1, 100),)),
        starting(UNSCHEDULED, starts=(JobStart(ms(1), "start", ms(30)),)),
        replace(starting(UNSCHEDULED), terminal=True),
        starting(),
    ],
    ids=["not for long", "started since", "checkpoints", "all tasks ran", "ended", "no pod"],
)
def test_it_is_quiet_where(judged):
    assert found(judged, START) == ()


def test_a_loop_for_want_of_slots_names_the_pods_that_wait_and_one_of_its_own_code_does_not():
    no_slots = "org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: slots"
    for trace, names_pods in ((no_slots, True), ("java.lang.IllegalStateException: x", False)):
        judged = window(
            at=700,
            annotations=tuple(restart(at) for at in (100, 300, 500)),
            failures=tuple(failure(at, trace) for at in (100, 300, 500)),
            events=(event(1, "job_state"), pod_event(100, "pod_waiting", NO_NODE)),
        )
        [finding] = found(judged, LOOP)
        assert ("pods that wait" in values(finding)) is names_pods
        assert (finding.next_step == step("POD_UNSCHEDULABLE")) is names_pods
