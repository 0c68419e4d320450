"""Lives of TaskManagers: what begins one, what ends one and how, and which jobs are told."""

import random
from itertools import permutations

import pytest

from spark_jobs.fold.annotations import annotations
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from spark_jobs.fold.taskmanager_lives import WORDS, lives, losses_of_job, lost_mentions
from spark_jobs.serving import TASKMANAGER_ENDS, TASKMANAGER_LIFE, TASKMANAGER_LOSSES
from tests.fold.pieces import told
from tests.fold.rows import JOB, noon

TM = "tm-1:4-d1"
OTHER = "0" * 31 + "2"
HEARTBEAT = f"The heartbeat of TaskManager with id {TM} timed out."
UNREACHABLE = f"TaskManager with id {TM} is no longer reachable."
OOM = (
    "Pod terminated, container termination statuses: [flink-main-container(exitCode=137, "
    "reason=OOMKilled)], pod status: Failed(reason=null, message=null)"
)


def line(at_s=0, kind="tm_unreachable", container=TM, reason_text=None, **values):
    empty = dict.fromkeys(("path", "to_state", "detail", "host"))
    told_at = {"ts": noon(at_s), "observed_at": noon(at_s) + 50}
    return (
        empty
        | told_at
        | {"kind": kind, "container": container, "reason_text": reason_text}
        | (values)
    )


def registered(at_s=0, host="host-1"):
    return line(at_s, "tm_registered", path=f"pekko.tcp://flink@{host}:6122/user/rpc/tm_0")


def sample(at_s, name=TM, *jobs, heartbeat_s=None, **values):
    return {
        "taskmanager_id": name,
        "ts": noon(at_s),
        "observed_at": noon(at_s),
        "host": "host-1",
        "last_heartbeat": None if heartbeat_s is None else noon(heartbeat_s),
        "slots": 4,
        "process_memory_bytes": 1 << 30,
        "heap_max_bytes": 1 << 28,
        "managed_memory_bytes": 1 << 27,
        "network_memory_bytes": 1 << 26,
        "allocated_slots": [{"job_id": job_id} for job_id in jobs],
        **values,
    }


def trace(at_s, text=UNREACHABLE, ran_on=None):
    text = f"org.apache.flink.runtime.jobmaster.JobMasterException: {text}"
    return {
        "ts": noon(at_s),
        "observed_at": noon(at_s),
        "stacktrace": text,
        "taskmanager_id": ran_on,
    }


def ran(at_s=0, job_id=JOB, container=TM, execution="e-1"):
    return {
        "execution_id": execution,
        "job_id": job_id,
        "vertex_id": "v1",
        "task": "enrich",
        "subtask": 0,
        "container": container,
        "deployed_at": noon(at_s),
    }


def lived(*, known=(), lines=(), samples=(), traces=(), executions=()):
    rows = lives(known, lines, samples, traces, executions)
    return sorted(rows, key=lambda row: (row["taskmanager_id"], row["life"]))


def ends(rows):
    return [
        (row["taskmanager_id"], row["ended_by"], row["ended_at"])
        for row in rows
        if row["ended_at"] is not None
    ]


@pytest.mark.parametrize(
    ("reason", "ended_by", "exit_code"),
    [
        (UNREACHABLE, "unreachable", None),
        (HEARTBEAT, "heartbeat_timeout", None),
        ("The TaskExecutor is shutting down.", "shut_down", None),
        (OOM, "oom_killed", 137),
        ("Container released on a *lost* node", "container_lost", None),
        ("Container [pid=7] is running beyond physical memory limits.", "oom_killed", None),
        ("Container killed on request. Exit code is 143", "exited", 143),
        ("Container preempted by scheduler", "evicted", None),
        ("TaskExecutor exceeded the idle timeout.", "released", None),
        ("Stopping JobMaster for job 'lost and killed' (1).", None, None),
        (None, None, None),
    ],
)
def test_a_closed_connection_says_how_a_taskmanager_ended(reason, ended_by, exit_code):
    rows = lived(lines=[registered(), line(9, "tm_disconnected", reason_text=reason)])
    assert [(row["ended_by"], row["exit_code"]) for row in rows] == [(ended_by, exit_code)]


def test_every_end_has_its_words_and_a_release_is_no_loss():
    assert tuple(WORDS) == TASKMANAGER_ENDS
    assert set(TASKMANAGER_ENDS) - set(TASKMANAGER_LOSSES) == {"released", "unlisted"}


def test_a_life_has_what_its_registration_and_its_samples_tell():
    (row,) = lived(lines=[registered(0, "10.0.0.7")], samples=[sample(60, host=None)])
    assert {name: row[name] for name in TASKMANAGER_LIFE.column_names if name != "cluster"} == {
        "taskmanager_id": TM,
        "life": 0,
        "host": "10.0.0.7",
        "born_at": noon(0),
        "last_seen_at": noon(0),
        "ended_at": None,
        "ended_by": None,
        "exit_code": None,
        "detail": None,
        "slots": 4,
        "process_memory_bytes": 1 << 30,
        "heap_max_bytes": 1 << 28,
        "managed_memory_bytes": 1 << 27,
        "network_memory_bytes": 1 << 26,
        "as_of": noon(60),
    }


def test_where_no_source_names_a_host_the_id_does():
    pod = "flink-taskmanager-1-7"
    rows = lived(lines=[line(), line(container=pod)])
    assert [row["host"] for row in rows] == ["flink-taskmanager-1-7", "tm-1"]


def test_one_loss_that_several_notice_is_one_dated_by_the_first_and_told_by_who_knows_most():
    lines = [
        line(52, "tm_disconnected", reason_text=HEARTBEAT),
        line(50, "tm_heartbeat_timeout"),
        line(61, "tm_disconnected", reason_text=OOM),
    ]
    for order in permutations(lines):
        known = ()
        for one in order:
            known = lived(known=known, lines=[one])
        assert ends(known) == ends(lived(lines=lines)) == [(TM, "oom_killed", noon(50))]


def test_a_taskmanager_that_comes_back_under_its_id_lives_again_and_may_be_lost_again():
    lines = [registered(0), line(100), registered(110), line(1_000)]
    rows = lived(lines=lines, samples=[sample(60), sample(120)])
    assert [(row["life"], row["born_at"], row["ended_at"]) for row in rows] == [
        (0, noon(0), noon(100)),
        (1, noon(110), noon(1_000)),
    ]
    assert ends(lived(lines=[line(0), line(20), line(4_000)])) == [
        (TM, "unreachable", noon(0)),
        (TM, "unreachable", noon(4_000)),
    ]


def test_a_loss_that_is_told_after_what_came_later_lies_before_it():
    by_rest = lived(samples=[sample(0), sample(60), sample(120)])
    rows = lived(known=by_rest, lines=[line(90)])
    assert [(row["life"], row["ended_at"]) for row in rows] == [(0, noon(90)), (1, None)]
    assert rows[1]["born_at"] == noon(120)


def test_what_a_trace_alone_says_counts_once_no_heartbeat_came():
    suspected = lived(samples=[sample(0), sample(5, "tm-2:4-d2")], traces=[trace(10)])
    assert ends(suspected) == []
    silent = sample(60, heartbeat_s=4)
    assert ends(lived(known=suspected, samples=[silent])) == [(TM, "unreachable", noon(10))]
    alive = sample(60, heartbeat_s=55)
    assert ends(lived(known=suspected, samples=[alive, sample(90, "tm-2:4-d2")])) == []


def test_a_task_that_cannot_be_sent_to_its_taskmanager_makes_that_suspect_and_no_other_error():
    later = [sample(60, "tm-2:4-d2")]
    sent = "RecipientUnreachableException: Could not send message"
    named = lived(samples=later, traces=[trace(10, sent, TM)])
    assert ends(named) == [(TM, "unreachable", noon(10))]
    assert ends(lived(samples=later, traces=[trace(10, "IOException: disk", TM)])) == []
    address = "Connection refused by remote task manager 'host-1/10.0.0.1:6121'"
    assert ends(lived(samples=later, traces=[trace(10, address)])) == []


def test_one_that_no_listing_shows_any_more_is_neither_lost_nor_alive():
    rows = lived(samples=[sample(0), sample(0, "tm-2:4-d2"), sample(600, "tm-2:4-d2")])
    assert ends(rows) == [(TM, "unlisted", noon(0))]
    assert [row["to_inform"] for row in rows] == [[], []]
    assert ends(lived(known=rows, samples=[sample(660)])) == []


def test_jobs_that_had_slots_or_tasks_there_are_told_once():
    first = lived(lines=[line(70)], samples=[sample(60, TM, OTHER)], executions=[ran()])
    assert first[0]["to_inform"] == sorted([JOB, OTHER])
    again = lived(known=first, lines=[line(70)], executions=[ran()])
    assert (again[0]["to_inform"], again[0]["changed"]) == ([], False)
    better = lived(known=again, lines=[line(72, "tm_disconnected", reason_text=OOM)])
    assert better[0]["to_inform"] == sorted([JOB, OTHER])


def test_an_end_that_jobs_were_told_of_keeps_its_date():
    first = lived(lines=[line(70)], executions=[ran()])
    again = lived(known=first, lines=[line(65)])
    assert (again[0]["ended_at"], again[0]["to_inform"]) == (noon(70), [])


def test_tasks_of_an_earlier_life_are_not_told_of_the_next_ones_end():
    rows = lived(
        lines=[line(70), registered(80), line(1_000)],
        executions=[ran(0), ran(90, OTHER, execution="e-2")],
    )
    assert [row["to_inform"] for row in rows] == [[JOB], [OTHER]]


def test_lives_come_out_the_same_piece_by_piece_and_again():
    rng = random.Random(7)
    lines = [registered(0), line(400), registered(420), line(901, "tm_disconnected", TM, OOM)]
    samples = [sample(at) for at in (*range(60, 400, 60), *range(450, 900, 60))]
    samples += [sample(at, "tm-2:4-d2") for at in range(60, 1_200, 60)]
    whole = lived(lines=lines, samples=samples)
    signs = sorted([*lines, *samples], key=lambda row: row["ts"])
    known = ()
    while signs:
        count = rng.randint(1, 4)
        some, signs = signs[:count], signs[count:]
        known = lived(
            known=known,
            lines=[row for row in some if "kind" in row],
            samples=[row for row in some if "slots" in row],
        )
    served = [name for name in TASKMANAGER_LIFE.column_names if name != "cluster"]
    assert [[row[name] for name in served] for row in known] == [
        [row[name] for name in served] for row in whole
    ]
    assert lived(known=whole, lines=lines, samples=samples) == [
        {**row, "changed": False} for row in whole
    ]


def loss(at_s, name=TM, life=0, **values):
    return {
        "ts": noon(at_s),
        "observed_at": noon(at_s),
        "taskmanager_id": name,
        "life": life,
        "host": "host-1",
        "ended_by": "unreachable",
        "exit_code": None,
        "detail": None,
        **values,
    }


def notes(*losses, states=()):
    return annotations((), (), (), (), lost_mentions(losses_of_job(losses, states)))


def test_a_loss_is_an_annotation_with_its_reason():
    (row,) = notes(loss(50, ended_by="oom_killed", exit_code=137, detail=OOM))
    assert (row["kind"], row["subject"], row["at"], row["label"]) == (
        "taskmanager_lost",
        TM,
        noon(50),
        f"TaskManager {TM} lost",
    )
    assert row["detail"] == {
        "taskmanager_id": TM,
        "reason": OOM,
        "ended_by": "oom_killed",
        "exit_code": 137,
    }
    assert notes(loss(50))[0]["detail"]["reason"] == "no longer reachable"


def test_a_taskmanager_that_outlived_the_job_is_no_loss_to_it():
    ended = [(noon(-60), "RUNNING"), (noon(0), "CANCELED")]
    assert notes(loss(5), states=ended) == []
    assert len(notes(loss(-5), states=ended)) == 1


def test_what_came_in_an_earlier_run_is_remembered_and_not_told_twice():
    first = told(JobUpdate("c", JOB, taskmanager_losses=[loss(0), loss(0)]), JobState(), Settings())
    second = told(
        JobUpdate("c", JOB, taskmanager_losses=[loss(0), loss(300, "tm-2:4-d1")]),
        unpacked(first.state.packed()),
        Settings(),
    )
    assert [row["subject"] for row in first.new_annotations] == [TM]
    assert [row["subject"] for row in second.new_annotations] == ["tm-2:4-d1"]
    assert [row["subject"] for row in second.annotations] == [TM, "tm-2:4-d1"]


POD, STANDALONE = "orders-taskmanager-1-1", "10.244.1.5:6122-ab12cd"


def pod_ended(at_s, reason, name=POD, address="10.244.1.5"):
    text = f"on node preemptible-1 2026-01-01 12:00:00 UTC: {reason}"
    return line(at_s, "pod_ended", name, text, host=address)


@pytest.mark.parametrize(
    ("reason", "ended_by", "exit_code"),
    [
        ("exitCode=137, reason=OOMKilled, memory limit 4096Mi", "oom_killed", 137),
        ("exitCode=239, reason=Error", "exited", 239),
        ("reason=Evicted: The node was low on resource: memory.", "evicted", None),
        ("DisruptionTarget, reason=PreemptionByScheduler: preempting", "evicted", None),
        ("DisruptionTarget, reason=DeletionByPodGC: PodGC: node no longer exists", "evicted", None),
    ],
)
@pytest.mark.parametrize("name", [POD, STANDALONE])
def test_the_end_of_a_pod_says_why_its_taskmanager_is_lost(name, reason, ended_by, exit_code):
    heartbeat = line(59, "tm_heartbeat_timeout", name)
    [row] = lived(samples=[sample(5, name)], lines=[pod_ended(9, reason), heartbeat])
    assert (row["taskmanager_id"], row["ended_by"], row["exit_code"]) == (name, ended_by, exit_code)
    assert row["ended_at"] == noon(59) and "on node preemptible-1" in row["detail"]


KILLED = "exitCode=137, reason=OOMKilled, memory limit 4096Mi"


def test_it_is_told_again_where_it_comes_after_the_loss():
    heartbeat = line(59, "tm_heartbeat_timeout", POD)
    known = lived(lines=[heartbeat], samples=[sample(5, POD, JOB)])
    [row] = lived(known=known, lines=[pod_ended(9, KILLED)])
    assert (row["ended_by"], row["ended_at"], row["to_inform"]) == ("oom_killed", noon(59), [JOB])


def test_a_pod_that_is_missed_long_after_its_taskmanager_explains_its_loss_too():
    late = pod_ended(4000, "DisruptionTarget, reason=PreemptionByScheduler: x")
    heartbeat = line(59, "tm_heartbeat_timeout", POD)
    [row] = lived(samples=[sample(5, POD)], lines=[heartbeat, late])
    assert (row["ended_at"], row["ended_by"]) == (noon(59), "evicted")


def test_a_pod_that_ended_is_no_loss_before_its_taskmanager_is_missed_nor_of_an_unknown_one():
    known = lived(samples=[sample(5, POD)], lines=[pod_ended(9, KILLED)])
    assert ends(known) == []
    [row] = lived(known=known, samples=[sample(400, "tm-other")])[:1]
    assert (row["ended_by"], row["ended_at"]) == ("oom_killed", noon(5))
    assert lived(lines=[pod_ended(9, KILLED)]) == []


def test_the_end_of_a_container_is_not_that_of_the_next_one_in_its_pod():
    next_one = "10.244.1.5:6122-ffffff"
    samples = [sample(5, STANDALONE), sample(60, next_one)]
    lost = [line(61, "tm_heartbeat_timeout", name) for name in (STANDALONE, next_one)]
    rows = lived(samples=samples, lines=[pod_ended(9, KILLED), *lost])
    assert [row["ended_by"] for row in rows] == ["oom_killed", "heartbeat_timeout"]
