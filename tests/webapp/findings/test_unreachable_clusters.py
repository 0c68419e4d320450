"""A cluster that went silent is a finding, and nobody claims to know how its jobs are."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from tests.webapp.builders import cluster, finding, job
from webapp.findings import unreachable_clusters
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster, JobCurrent

pytestmark = pytest.mark.django_db

NOW = timezone.now()
CYCLE = timedelta(seconds=settings.WEIR.judged_every_s)


@pytest.fixture(autouse=True)
def _fleet(db: None) -> None:
    silent = {
        "last_success_at": NOW - 5 * CYCLE,
        "consecutive_failures": 5,
        "unreachable_since": NOW - 2 * CYCLE,
    }
    cluster("silent", at=NOW, **silent, last_error="connection refused")
    cluster("seen", at=NOW)
    for name in ("silent", "seen"):
        job(name, at=NOW, health=100, health_state="judged")
    job("silent", at=NOW, state="FINISHED", terminal=True, health_state="ended")


def healths() -> list[tuple[str, str, int | None]]:
    return sorted(JobCurrent.objects.values_list("cluster", "health_state", "health"))


def test_three_missed_cycles_are_one_critical_finding_of_the_cluster() -> None:
    unreachable_clusters.watch(NOW)
    found = Finding.objects.get()
    assert (found.rule, found.cluster, found.job_id, found.state, found.severity) == (
        "collect.blind",
        "silent",
        "",
        "open",
        "critical",
    )
    assert "connection refused" in found.cause


def test_looking_again_prolongs_it() -> None:
    unreachable_clusters.watch(NOW)
    unreachable_clusters.watch(NOW + CYCLE)
    found = Finding.objects.get(cluster="silent")
    assert (found.first_seen, found.last_seen) == (NOW, NOW + CYCLE)


def test_it_is_closed_when_the_cluster_answers_again() -> None:
    unreachable_clusters.watch(NOW)
    Cluster.objects.update(
        last_success_at=NOW + CYCLE, consecutive_failures=0, unreachable_since=None, last_error=None
    )
    unreachable_clusters.watch(NOW + CYCLE)
    found = Finding.objects.get()
    assert (found.state, found.closed_at) == ("closed", NOW + CYCLE)


def test_jobs_of_a_silent_cluster_have_no_health_and_those_that_ended_keep_having_ended() -> None:
    unreachable_clusters.watch(NOW)
    assert healths() == [
        ("seen", "judged", 100),
        ("silent", "ended", None),
        ("silent", "unknown", None),
    ]


def test_one_missed_cycle_is_no_finding() -> None:
    Cluster.objects.update(last_success_at=NOW - 1.5 * CYCLE, unreachable_since=None)
    unreachable_clusters.watch(NOW)
    assert not Finding.objects.exists()


def test_a_cluster_that_was_not_asked_is_not_silent() -> None:
    """Weir's collector stood still for ten minutes: that is no silence of anybody else."""
    Cluster.objects.update(
        last_collected_at=NOW - 20 * CYCLE,
        last_success_at=NOW - 20 * CYCLE,
        consecutive_failures=0,
        unreachable_since=None,
    )
    unreachable_clusters.watch(NOW)
    assert not Finding.objects.exists()


def test_a_failure_before_it_was_not_asked_any_more_is_one_failure() -> None:
    Cluster.objects.update(
        last_collected_at=NOW - 19 * CYCLE,
        last_success_at=NOW - 20 * CYCLE,
        consecutive_failures=1,
        unreachable_since=None,
    )
    unreachable_clusters.watch(NOW)
    assert not Finding.objects.exists()


def test_findings_of_a_removed_cluster_are_closed() -> None:
    found = finding(JobCurrent.objects.get(cluster="seen"), at=NOW)
    Cluster.objects.get(name="seen").delete()
    unreachable_clusters.watch(NOW)
    found.refresh_from_db()
    assert found.state == "closed"
