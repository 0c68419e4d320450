"""A job that vanishes from a JobManager that answers: from its list of jobs to the fleet page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from tests.ingest.flink_rest.serving import Reply, recorded, told
from tests.ingest.test_shard_collector import serving
from webapp.fleet.models import Cluster, JobCurrent
from webapp.work import registry
from webapp.work.models import DueWork
from webapp.work.perform import Performed, perform

pytestmark = pytest.mark.django_db(transaction=True)


class JobManager:
    def __init__(self) -> None:
        self.has_lost_its_jobs = False
        self.answer = recorded("1.20.5/B")

    def __call__(self, path: str, headers: dict[str, str]) -> Reply:
        if self.has_lost_its_jobs and path == "/jobs/overview":
            return told({"jobs": []})
        return self.answer(path, headers)


@pytest.fixture
def jobmanager(home: Path, settings: Any) -> Iterator[JobManager]:
    settings.SPARK_JOB = "spark_jobs.job.run_job"
    jobmanager = JobManager()
    with serving(jobmanager) as (server,):
        Cluster.objects.create(name="c", url=server.url)
        yield jobmanager


def collect() -> None:
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    assert perform("collect/0", even_if_not_due=True).state == Performed.DONE


def status() -> tuple[str, bool, str]:
    """After what was collected was computed and loaded."""
    perform("spark/cycle", even_if_not_due=True)
    job = JobCurrent.objects.with_status(timezone.now()).get()
    return job.status, job.terminal, job.health_state


def test_it_is_over_after_two_cycles_and_runs_when_it_is_listed_again(
    jobmanager: JobManager,
) -> None:
    collect()
    assert status() == ("RUNNING", False, "judged")
    seen_at = JobCurrent.objects.get().last_seen_at
    jobmanager.has_lost_its_jobs = True
    collect()
    assert status() == ("RUNNING", False, "judged")
    collect()
    assert status() == ("NOT_LISTED", False, "ended")
    job = JobCurrent.objects.get()
    assert job.name and job.end_time and job.end_time <= seen_at
    jobmanager.has_lost_its_jobs = False
    collect()
    assert status() == ("RUNNING", False, "judged")
    assert JobCurrent.objects.get().end_time is None
