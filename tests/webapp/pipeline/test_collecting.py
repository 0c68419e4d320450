"""Collect cycles against a simulated JobManager: one that is lost becomes unreachable, and its jobs
are never shown as healthy.
"""

import os
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.shard_collector import ClusterOutcome
from tests.webapp.builders import cluster
from tests.webapp.pipeline.site import Site, kill
from tests.weir_settings import WeirSettings
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster, JobCurrent
from webapp.pipeline import collecting
from webapp.pipeline.collecting import save_outcomes
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import Performed, perform

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(home: Path) -> Iterator[Site]:
    with Site(home / "site") as site:
        yield site


def collect() -> PipelineRun:
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    performed = perform("collect/0", even_if_not_due=True)
    assert performed.state == Performed.DONE
    return PipelineRun.objects.first() or PipelineRun()


def test_clusters_are_collected_and_their_cursors_kept(home: Path, site: Site) -> None:
    _, url = site.jobmanager(jobs=3)
    Cluster.objects.create(name="c", url=url)
    assert collect().counts["jobs"] == 3
    cluster = Cluster.objects.get()
    assert (cluster.visibility, cluster.jobs_seen, cluster.flink_version) == ("live", 3, "1.20.5")
    assert cluster.cursor
    assert Lake(str(home / "lake")).version("checkpoints") == 1


def test_a_cluster_that_is_lost_for_three_half_minutes_becomes_unreachable_and_sees_again(
    home: Path, site: Site
) -> None:
    process, url = site.jobmanager()
    Cluster.objects.create(name="c", url=url)
    collect()
    now = timezone.now()
    JobCurrent.objects.create(
        cluster="c", job_id="j", state="RUNNING", terminal=False, last_seen_at=now, as_of=now
    )
    kill(process)
    for _ in range(3):
        assert Cluster.objects.get().unreachable_since is None
        collect()
    assert Cluster.objects.get().visibility == "live"  # it may just fail over
    Cluster.objects.update(last_success_at=now - timedelta(seconds=90))
    collect()
    cluster = Cluster.objects.get()
    assert cluster.visibility == "unreachable"
    assert cluster.last_error
    assert JobCurrent.objects.with_status(timezone.now()).get().status == "UNKNOWN"
    _, cluster.url = site.jobmanager()
    cluster.save()
    collect()
    assert Cluster.objects.get().visibility == "live"
    assert JobCurrent.objects.with_status(timezone.now()).get().status == "RUNNING"


def asked_in_vain(*, refused: bool, every: timedelta, times: int = 3) -> Cluster:
    """A cluster that answered once, and then was asked so often without an answer."""
    row, at = Cluster.objects.get(), timezone.now() - every * times
    Cluster.objects.update(last_success_at=at, last_collected_at=at)
    row.refresh_from_db()
    lease = DueWork.objects.claim("collect/0", timezone.now(), even_if_not_due=True)
    assert lease
    for number in range(1, times + 1):
        outcome = ClusterOutcome("c", reachable=False, error="no", cursor={}, refused=refused)
        save_outcomes([outcome], {"c": row}, at + number * every, lease)
    return Cluster.objects.get()


@pytest.mark.parametrize(
    ("refused", "operator", "visibility"),
    [(True, {}, "unreachable"), (False, {}, "live"), (True, {"sentence": "upgrades"}, "live")],
)
def test_where_no_process_listens_three_collections_in_vain_are_enough(
    home: Path, refused: bool, operator: dict[str, str], visibility: str
) -> None:
    """Not where a JobManager is only slow to answer, nor while an operator deploys it anew."""
    DueWork.objects.ensure({"collect/0": 8}, timezone.now())
    cluster("c", at=timezone.now(), operator=operator)
    assert asked_in_vain(refused=refused, every=timedelta(seconds=8)).visibility == visibility


def test_a_jobmanager_that_is_gone_is_a_finding_at_once_and_dated_to_when_it_was_asked_in_vain(
    home: Path, site: Site
) -> None:
    process, url = site.jobmanager()
    Cluster.objects.create(name="c", url=url)
    collect()
    kill(process)
    collect()
    first = Cluster.objects.get().failing_since
    collect()
    assert first and not Finding.objects.exists()
    Cluster.objects.update(last_success_at=timezone.now() - timedelta(seconds=24))
    collect()
    found = Finding.objects.get()
    assert (found.rule, found.first_seen, found.to_alert) == ("collect.blind", first, True)


def test_collections_begin_an_interval_apart(home: Path, site: Site, weir: WeirSettings) -> None:
    weir(collect_interval_s=3600)
    _, url = site.jobmanager()
    Cluster.objects.create(name="c", url=url)
    collect()
    row = DueWork.objects.get(key="collect/0")
    assert row.last_started_at and row.next_attempt_at - row.last_started_at == timedelta(hours=1)


def test_who_is_slow_to_answer_is_left_alone_for_twice_as_long(
    home: Path, site: Site, weir: WeirSettings
) -> None:
    weir(collect_interval_s=3)
    process, url = site.jobmanager()
    Cluster.objects.create(name="slow", url=url)
    os.kill(process.pid, signal.SIGSTOP)
    threading.Timer(4, os.kill, (process.pid, signal.SIGCONT)).start()
    collect()
    row = DueWork.objects.get(key="collect/0")
    assert row.last_started_at and row.last_finished_at
    took = row.last_finished_at - row.last_started_at
    assert row.next_attempt_at - row.last_finished_at >= min(2 * took, timedelta(seconds=30))


def test_one_bad_cluster_stops_no_other(home: Path, site: Site) -> None:
    _, url = site.jobmanager()
    Cluster.objects.create(name="good", url=url)
    Cluster.objects.create(name="gone", url="http://127.0.0.1:9")
    Cluster.objects.create(
        name="locked",
        url=url,
        auth_scheme="bearer",
        auth_secret_encrypted="made with a key nobody has",
    )
    run = collect()
    assert run.state == "done"
    assert (run.counts["clusters"], run.counts["unreachable"]) == (3, 2)
    assert dict(Cluster.objects.values_list("name", "consecutive_failures")) == {
        "good": 0,
        "gone": 1,
        "locked": 1,
    }
    assert "WEIR_FIELD_KEYS" in (Cluster.objects.get(name="locked").last_error or "")


def test_a_lake_that_cannot_be_written_fails_the_run_and_moves_no_cursor(
    home: Path, site: Site, weir: WeirSettings
) -> None:
    _, url = site.jobmanager()
    Cluster.objects.create(name="c", url=url)
    (home / "blocked").touch()
    weir(lake_root=str(home / "blocked" / "lake"))
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    with pytest.raises(Exception, match="cannot be written"):
        perform("collect/0", even_if_not_due=True)
    assert PipelineRun.objects.get().state == "failed"
    assert Cluster.objects.get().cursor == {}
    assert DueWork.objects.get(key="collect/0").failures == 1


def test_texts_that_no_database_takes_do_not_cost_the_shard_its_cursors(home: Path) -> None:
    clusters = {
        name: Cluster.objects.create(name=name, url="http://127.0.0.1:1")
        for name in ("honest", "hostile")
    }
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    lease = DueWork.objects.claim("collect/0", timezone.now())
    hostile = ClusterOutcome(
        "hostile", True, "\x00\ud800", {"rest": {"\ud800": ["\x00"]}}, flink_version="1.\ud800"
    )
    collecting.save_outcomes(
        [hostile, ClusterOutcome("honest", True, None, {"rest": {"a": 1}})],
        clusters,
        timezone.now(),
        lease,
    )
    assert Cluster.objects.get(name="honest").cursor == {"rest": {"a": 1}}
    assert Cluster.objects.get(name="hostile").flink_version == "1.\ufffd"
