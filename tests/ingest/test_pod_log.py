"""What is listed of pods, as records of a log that their patterns read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ingest.discovery.pods import Pod
from ingest.pod_log import new_records
from tests.ingest.flink_logs.row_events import event_of

AT = datetime(2025, 6, 15, 16, tzinfo=UTC)
ENDED_MS = round((AT - timedelta(minutes=5)).timestamp() * 1000)
JOB = "a" * 32
RUNS = Pod(
    "orders-taskmanager-1-1",
    "taskmanager",
    phase="Running",
    node="worker-3",
    address="10.244.1.5",
    started_ms=ENDED_MS - 600_000,
)
OOM = "exitCode=137, reason=OOMKilled, memory limit 4096Mi"


def events(*pods, cursor=None, at=AT):
    return [event_of(record) for record in new_records(pods, cursor or {}, at)[0]]


def test_each_fact_of_a_pod_is_an_event_with_its_name_its_address_and_its_job():
    waits = {"waits": "Unschedulable: 0/3 nodes: are available", "waits_since_ms": ENDED_MS}
    pod = replace(RUNS, ended=OOM, ended_ms=ENDED_MS, job_id=JOB, removed_ms=ENDED_MS + 9, **waits)
    found = events(pod)
    assert [(one.kind, one.reason_text) for one in found] == [
        ("pod_started", "on node worker-3"),
        ("pod_ended", f"on node worker-3 2025-06-15 15:55:00 UTC: {OOM}"),
        ("pod_waiting", "Unschedulable: 0/3 nodes: are available"),
        ("pod_removed", "last seen Running on node worker-3"),
    ]
    assert {(one.container, one.host, one.job_id) for one in found} == {
        ("orders-taskmanager-1-1", "10.244.1.5", JOB)
    }


def test_a_pod_without_a_node_an_address_and_a_job_is_reported_without_them():
    (one,) = events(Pod("x-1", "taskmanager", waits="Unschedulable", waits_since_ms=ENDED_MS))
    assert (one.kind, one.container, one.host, one.job_id) == ("pod_waiting", "x-1", None, None)


def test_a_fact_is_reported_once_though_its_words_change_and_again_for_the_job_that_follows():
    pod = replace(RUNS, started_ms=None, waits="ErrImagePull: a", waits_since_ms=ENDED_MS)
    first, cursor = new_records([pod], {}, AT)
    again, cursor = new_records([replace(pod, waits="ImagePullBackOff: b")], cursor, AT)
    followed, cursor = new_records([replace(pod, job_id=JOB)], cursor, AT)
    assert (len(first), len(again), len(followed), len(cursor["reported"])) == (1, 0, 1, 1)


def test_when_a_disrupted_pod_ended_is_known_once_it_is_gone():
    pod = replace(RUNS, started_ms=None, ended="DisruptionTarget, reason=PreemptionByScheduler: x")
    assert events(pod) == []
    ended, _removed = events(replace(pod, removed_ms=ENDED_MS))
    assert ended.kind == "pod_ended" and "before 2025-06-15 15:55:00 UTC: " in ended.reason_text


def test_old_ends_the_future_pods_of_jobmanagers_and_a_damaged_cursor_make_no_events():
    old = replace(RUNS, started_ms=ENDED_MS - 86_400_000)
    assert events(old, replace(RUNS, started_ms=4_000_000_000_000)) == []
    assert events(replace(RUNS, component="jobmanager", ended=OOM, ended_ms=ENDED_MS)) == []
    assert len(events(RUNS, cursor={"reported": 7})) == 1
