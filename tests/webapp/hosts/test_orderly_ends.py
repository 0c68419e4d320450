"""A TaskManager that shuts down is lost to the jobs that had tasks there, and to nobody else."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.builders import cluster, job
from tests.webapp.hosts.builders import taskmanager
from webapp.hosts.lives import lost

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("lived_for", [timedelta(hours=1), None])
def test_one_that_shut_down_counts_only_where_a_job_lost_it(lived_for: timedelta | None) -> None:
    now = timezone.now()
    cluster(at=now)
    of = job(at=now)
    born_at = now - lived_for if lived_for else None
    taskmanager("tm-1", "host-1", now, ended_by="shut_down", born_at=born_at)
    taskmanager("tm-2", "host-1", now, of, ended_by="shut_down", born_at=born_at)
    taskmanager("tm-3", "host-1", now, ended_by="exited", born_at=born_at)
    found = lost(now - timedelta(minutes=1), now).values_list("taskmanager_id", flat=True)
    assert sorted(found) == ["tm-2", "tm-3"]
