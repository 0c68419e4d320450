"""What the log of a JobManager says while there is no job, or of none of several."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.builders import cluster, event, job, unsaved_job
from webapp.findings import cluster_errors
from webapp.findings.models import Finding
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db

NOW = timezone.now()
MINUTE = timedelta(minutes=1)
NO_TOPIC = (
    "java.util.concurrent.CompletionException: org.apache.flink.client.program."
    "ProgramInvocationException: The main method caused an error\n"
    "Caused by: java.lang.IllegalArgumentException: no topic\n\tat com.example.Main.main(M.java:9)\n"
)


@pytest.fixture(autouse=True)
def _fleet(db: None) -> None:
    cluster(at=NOW)


def failed(at=NOW - MINUTE, kind="program_failed", **fields):
    of = unsaved_job(at=at)
    of.job_id = None
    fields = {"message": "Application failed unexpectedly: ", "detail": NO_TOPIC} | fields
    return event(of, kind, at, **fields)


def found():
    return list(Finding.objects.order_by("rule").values_list("rule", "state", "severity", "job_id"))


def test_a_program_that_fails_before_there_is_a_job_is_a_finding_of_the_cluster():
    failed()
    cluster_errors.watch(NOW)
    assert found() == [("jobmanager.error", "open", "critical", "")]
    finding = Finding.objects.get()
    assert (finding.subject_kind, finding.cluster) == ("cluster", "prod-eu")
    assert "java.lang.IllegalArgumentException" in finding.title
    assert "no topic" in finding.cause


def test_it_is_seen_again_and_ends_when_nothing_more_is_logged():
    failed()
    for at in (NOW, NOW + MINUTE):
        cluster_errors.watch(at)
    assert Finding.objects.get().last_seen == NOW + MINUTE
    cluster_errors.watch(NOW + 20 * MINUTE)
    assert found() == [("jobmanager.error", "closed", "critical", "")]


def test_a_jobmanager_of_several_jobs_that_crashes_again_and_again_is_one_too():
    for number in range(3):
        failed(
            NOW - (10 - number) * MINUTE,
            "jobmanager_fatal",
            message="Fatal error occurred in the cluster entrypoint.",
            detail="java.lang.OutOfMemoryError: Metaspace\n",
        )
    cluster_errors.watch(NOW)
    assert found() == [("jobmanager.crash_loop", "open", "critical", "")]
    assert Finding.objects.get().data["cause"] == "METASPACE_FULL"


@pytest.mark.parametrize("left", [{}, {"enabled": False}])
def test_what_ran_afterwards_or_is_not_watched_is_no_finding(left):
    failed()
    if left:
        Cluster.objects.update(**left)
    else:
        event(job(at=NOW), "job_state", NOW, fields={"to_state": "RUNNING"})
    cluster_errors.watch(NOW)
    assert found() == []


def test_lines_of_a_job_are_judged_where_the_job_is():
    event(job(at=NOW), "program_failed", NOW)
    cluster_errors.watch(NOW)
    assert found() == []


def test_a_recording_is_judged_as_it_was_at_its_end():
    Cluster.objects.update(kind=ClusterKind.RECORDING)
    failed(NOW - timedelta(days=90))
    for _ in range(2):
        cluster_errors.watch_recordings({"prod-eu"})
        cluster_errors.watch(NOW)
    assert found() == [("jobmanager.error", "open", "critical", "")]
