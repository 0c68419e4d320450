"""What the operator's resources say of a cluster and its jobs: state, error, events and
savepoints.
"""

import pytest

from ingest.discovery.kubernetes import objects
from ingest.discovery.kubernetes.clusters import ListedObjects, targets
from ingest.discovery.sources import KubernetesSource
from tests import kubernetes_objects as given
from tests.kubernetes_objects import (
    FAILED_DEPLOY,
    JOB,
    OTHER_JOB,
    STARTED_MS,
    SUSPENDED,
    UPGRADE,
    deployment,
)

SOURCE = KubernetesSource()


def report(of, *, jobs=(), events=(), snapshots=()):
    found = ListedObjects([objects.deployment(of)], [objects.session_job(one) for one in jobs])
    found.snapshots = [objects.snapshot(one) for one in snapshots]
    found.events = None if events is None else [objects.event(one) for one in events]
    ((target,), _refused) = targets(SOURCE, found)
    return target.operator


def test_an_application_that_runs_is_said_with_its_job():
    said = report(deployment())
    assert (said.state, said.lifecycle, said.job_manager, said.reconciliation) == (
        "",
        "STABLE",
        "READY",
        "DEPLOYED",
    )
    assert [(one.name, one.job_id, one.state) for one in said.jobs] == [
        ("orders pipeline", JOB, "RUNNING")
    ]
    assert said.sentence == "stable, orders pipeline running"


def test_a_jobmanager_that_crashes_is_broken_with_the_operators_words():
    said = report(deployment(status=FAILED_DEPLOY))
    assert said.state == "broken" and "CrashLoopBackOff" in said.error
    assert said.sentence.startswith("failed, JobManager error") and "back-off 5m0s" in said.sentence


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"jobManagerDeploymentStatus": "MISSING"}, "broken"),
        ({"jobManagerDeploymentStatus": "MISSING", "lifecycleState": "UPGRADING"}, ""),
        ({"jobManagerDeploymentStatus": "MISSING", "lifecycleState": "CREATED"}, ""),
        ({"jobManagerDeploymentStatus": "DEPLOYING", "lifecycleState": "DEPLOYED"}, ""),
        ({"jobManagerDeploymentStatus": "DEPLOYING", "error": "no quota"}, "broken"),
        ({"error": "spec.job.parallelism must be larger than 0"}, ""),
        (SUSPENDED, "suspended"),
        (SUSPENDED | {"error": "cannot delete"}, "broken"),
    ],
)
def test_only_what_no_jobmanager_can_answer_for_is_broken(status, state):
    assert report(deployment(status=status)).state == state


def test_a_refused_change_is_said_beside_a_jobmanager_that_is_ready():
    assert (
        "must be larger"
        in report(deployment(status={"error": "parallelism must be larger than 0"})).sentence
    )


def test_jobs_of_a_session_cluster_are_those_of_its_session_jobs():
    jobs = [given.session_job("carts", "session"), given.session_job("elsewhere", "other")]
    said = report(deployment("session", job=False), jobs=jobs)
    assert [(one.resource, one.job_id) for one in said.jobs] == [
        ("FlinkSessionJob shop/carts", OTHER_JOB)
    ]


def test_events_and_savepoints_belong_to_the_job_that_runs_and_none_to_one_before():
    events = [
        given.event("SpecChanged", UPGRADE, STARTED_MS - 60_000),
        given.event("SpecChanged", "of a job before", STARTED_MS - 3_600_000),
        given.event("Submit", "of another", STARTED_MS, of="carts"),
    ]
    snapshots = [
        given.state_snapshot("s3://sp/1", STARTED_MS - 40_000),
        given.state_snapshot("s3://sp/0", STARTED_MS - 9_000_000),
    ]
    said = report(deployment(), events=events, snapshots=snapshots)
    assert [(one.reason, one.at_ms, one.job_id, one.path) for one in said.events] == [
        ("SpecChanged", STARTED_MS - 60_000, JOB, ""),
        ("SavepointCompleted", STARTED_MS - 40_000, JOB, "s3://sp/1"),
    ]


def test_events_of_a_session_job_are_told_for_its_cluster():
    events = [
        given.event("Submit", "Starting deployment", STARTED_MS, of="carts", kind="FlinkSessionJob")
    ]
    said = report(
        deployment("session", job=False),
        jobs=[given.session_job("carts", "session")],
        events=events,
    )
    assert [(one.reason, one.job_id) for one in said.events] == [("Submit", OTHER_JOB)]


def test_the_last_savepoint_of_a_status_is_told_where_no_snapshot_resource_does():
    last = {
        "timeStamp": STARTED_MS + 9_000,
        "location": "s3://sp/2",
        "triggerType": "MANUAL",
        "formatType": "CANONICAL",
    }
    said = report(
        deployment(
            job_status={"savepointInfo": {"lastSavepoint": last, "savepointHistory": [last]}}
        )
    )
    assert [(one.reason, one.path, one.message) for one in said.events] == [
        ("SavepointCompleted", "s3://sp/2", "manual")
    ]


def test_a_savepoint_that_failed_is_a_warning():
    failed = given.state_snapshot("", STARTED_MS, state="FAILED", error="timeout")
    (event,) = report(deployment(), snapshots=[failed]).events
    assert (event.reason, event.is_warning, event.message) == ("SavepointFailed", True, "timeout")


def test_secrets_in_messages_are_taken_out():
    said = report(
        deployment(
            status={
                "error": "cannot read s3 with secret_key=canary123 at https://u:canary456@host/x"
            }
        )
    )
    assert "canary" not in said.error
