"""Rows that are deleted since they are old take no alert with them that still fires."""

from datetime import timedelta

import pytest

from tests.webapp.alerting.builders import at, look, opened, somebody_listens, the_alert, told
from tests.webapp.builders import cluster, job
from webapp.alerting.choices import AlertState
from webapp.config.row_retention import notable
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster
from webapp.pipeline import retention
from webapp.pipeline.due_work import RETENTION
from webapp.work.models import DueWork

pytestmark = pytest.mark.django_db
LATER_S = (notable() + timedelta(days=1)).total_seconds()


@pytest.fixture(autouse=True)
def firing() -> None:
    somebody_listens()
    cluster("prod-eu", at=at(0))
    opened()
    look(0)
    look(60)
    assert the_alert().state == AlertState.FIRING


def go_by() -> None:
    DueWork.objects.ensure({RETENTION: 30}, at(0))
    lease = DueWork.objects.claim(RETENTION, at(LATER_S))
    assert lease is not None
    retention.purge(at(LATER_S), lease)
    for seconds in (0, 60, 600, 6000):
        look(LATER_S + seconds)


def still_fires() -> bool:
    return (
        the_alert().state == AlertState.FIRING
        and Finding.objects.open().exists()
        and "resolved" not in [notice.kind for notice in told()]
    )


def test_what_nothing_was_seen_of_for_months_still_fires() -> None:
    """Its cluster is dark: its finding is open as long as nothing says that it ended."""
    go_by()
    assert still_fires()


def test_a_job_that_is_seen_but_was_not_judged_for_months_is_not_healthy() -> None:
    Cluster.objects.update(last_success_at=at(LATER_S), unreachable_since=None)
    job("prod-eu", job_id=Finding.objects.get().job_id, at=at(LATER_S))
    go_by()
    assert still_fires()


def test_what_is_of_no_job_in_a_cluster_that_is_seen_is_over() -> None:
    """Nothing would close it any more."""
    Cluster.objects.update(last_success_at=at(LATER_S), unreachable_since=None)
    go_by()
    assert the_alert().state == AlertState.RESOLVED and not Finding.objects.exists()
