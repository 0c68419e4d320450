"""Log events that rules read: declared, in the windows of real recordings, and bounded however many
tasks log them.
"""

import pytest

from ingest.flink_logs.patterns import KIND_OF_PIECE, PATTERNS, STORE_KINDS
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.restart_episodes import episodes
from spark_jobs.diagnosis.rule import Rule
from spark_jobs.diagnosis.window_contents import BRIEFLY_MS, EVENTS, complete_from, newest_events
from tests.diagnosis.jobs import LIMITS, checkpoint, event, ms, restart, window
from tests.windows import recorded, recorded_windows

NOT_RECORDED = {"trigger_failed"}
"""No recording has a storage that does not answer; since 1.14 ``checkpoint_failed`` is logged
beside it.
"""
ONLY_IN_INCIDENTS = {
    "cluster_shut_down",
    "enumeration_failed",
    "jobmanager_fatal",
    "leadership_granted",
    "leadership_lost",
    "partition_state_request",
    "program_failed",
    "slot_request_failed",
    "submission_ignored",
    "taskmanager_fatal",
    "transaction_lost",
    "transaction_open",
    "transaction_timeout_set",
    "worker_request_failed",
    "worker_terminated",
}
"""Played for one rule each, whose own tests read them."""
ONLY_IN_FIELD = {
    "association_quarantined",
    "fatal_error",
    "global_restart",
    "registration_failed",
    "restore_requested",
    "restored",
    "rpc_too_large",
    "slots_missing",
    "state_skipped",
    "worker_unregistered",
    *STORE_KINDS,
}
"""Of reports from the field, which ``test_field``, ``test_field_stories`` and ``test_store_faults``
read.
"""
ONLY_LISTED = {"pod_ended", "pod_removed", "pod_started", "pod_waiting"}
"""By an API server, which no recording has; ``test_pods`` and ``test_discovering_kubernetes`` read
them.
"""
READ = sorted(
    (rule.id, kind)
    for rule in registry.all_rules().values()
    for kind in {*rule.reads} - NOT_RECORDED - ONLY_IN_INCIDENTS - ONLY_IN_FIELD - ONLY_LISTED
)


def state(at, to, **values):
    return event(at, "task_state", fields={"to_state": to}, **values)


@pytest.fixture(scope="module")
def seen():
    return {
        one.rule_kind
        for name in recorded()
        for judged in recorded_windows(name)
        for one in judged.events
    }


@pytest.mark.parametrize(("rule", "kind"), READ)
def test_what_a_rule_reads_occurs_in_windows_of_real_recordings(seen, rule, kind):
    assert kind in seen


def test_windows_hold_nothing_that_no_rule_reads(seen):
    assert seen <= registry.events_read()


def test_what_rules_read_is_in_the_pattern_table():
    known = {*(pattern.kind for pattern in PATTERNS), *KIND_OF_PIECE.values()}
    assert {kind.split(" ")[0] for kind in registry.events_read()} <= known


def test_a_rule_sees_the_kinds_that_it_declares_and_no_others(monkeypatch):
    given = []

    def judge(judged, _limits):
        given.append(judged.events)
        return ()

    monkeypatch.setitem(
        registry.RULES,
        "probe.told",
        Rule("probe.told", "", "", reads=("task_state RUNNING",), judge=judge),
    )
    events = (event(1, "region_restart"), state(2, "RUNNING"), state(3, "FAILED"))
    registry.diagnose(window(events=events), LIMITS, only=["probe.told"])
    assert given == [(events[1],)]


def test_a_window_of_which_a_rule_reads_everything_stays_the_same():
    untouched = window(events=(event(1, "job_state"),))
    assert registry.with_events_read(untouched, frozenset({"job_state"})) is untouched


def timed(events):
    return [one.at_ms for one in events], list(events)


def test_five_thousand_deployed_tasks_do_not_push_out_what_else_was_told():
    told = [
        event(0, "job_state"),
        *(event(1, "task_deployed", subtask=index) for index in range(5_000)),
    ]
    kept = newest_events(timed(told), ms(60))
    assert [one.kind for one in kept].count("job_state") == 1
    assert [one.subtask for one in kept if one.kind == "task_deployed"] == list(
        range(5_000 - EVENTS, 5_000)
    )


def test_lines_of_subtasks_are_looked_back_to_for_an_hour_and_others_longer():
    told = [event(0, "task_deployed"), event(0, "job_state")]
    assert [one.kind for one in newest_events(timed(told), ms(0) + BRIEFLY_MS)] == [
        "task_deployed",
        "job_state",
    ]
    assert [one.kind for one in newest_events(timed(told), ms(0) + BRIEFLY_MS + 1)] == ["job_state"]


def test_a_window_knows_since_when_it_holds_all_lines_of_a_kind():
    assert (
        complete_from([event(at, "task_deployed") for at in range(EVENTS - 1)], "task_deployed")
        == 0
    )
    assert (
        complete_from([event(at, "task_deployed") for at in range(EVENTS)], "task_deployed")
        == ms(0) + 1
    )


def lives_of(tasks, running):
    """A restart after which ``running`` of ``tasks`` tasks are told to run, a checkpoint that was
    never triggered since.
    """
    deployed = [event(1, "task_deployed", vertex_id="e", subtask=index) for index in range(tasks)]
    ran = [state(2, "RUNNING", vertex_id="e", subtask=index) for index in range(running)]
    [episode] = episodes(
        window(
            checkpoint(1, -300),
            annotations=(restart(0),),
            events=newest_events(timed(deployed + ran), ms(60)),
            at=15,
        ),
        ms(-10),
    )
    return episode.ended_ms


def test_all_tasks_run_again_when_the_last_of_the_deployed_does():
    assert lives_of(4, 4) == ms(2)
    assert lives_of(4, 3) is None


def test_of_more_tasks_than_a_window_holds_lines_the_log_proves_nothing():
    assert lives_of(2 * EVENTS, EVENTS) is None
    assert lives_of(2 * EVENTS, 2 * EVENTS) is None


def test_the_first_region_runs_before_the_next_is_deployed():
    told = (
        event(1, "task_deployed", vertex_id="a", subtask=0),
        state(2, "RUNNING", vertex_id="a", subtask=0),
        event(3, "task_deployed", vertex_id="b", subtask=0),
        state(5, "RUNNING", vertex_id="b", subtask=0),
    )
    [episode] = episodes(window(annotations=(restart(0),), events=told, at=30), ms(-10))
    assert episode.ended_ms == ms(5)
