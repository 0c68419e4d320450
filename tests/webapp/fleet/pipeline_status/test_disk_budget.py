"""Weir takes nothing in when its disk gets full or it keeps too much, says so everywhere, and goes
on by itself: on a real small disk.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from ingest.replay.shipped import recordings
from tests.attacks.full_disk import Disk, disk
from tests.webapp import builders
from tests.weir_settings import WeirSettings
from webapp.accounts.models import ApiToken
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster
from webapp.fleet.pipeline_status import disk_budget, writability
from webapp.pipeline import tasks
from webapp.push.models import issue
from webapp.work.models import DueWork, KeptSize, PipelineAlarm, PipelineRun
from webapp.work.perform import Performed, perform

pytestmark = pytest.mark.django_db
LEAST_MB, LEFT_BYTES = 4, 3_000_000
"""Of a disk of 12 MiB."""


@pytest.fixture
def small(tmp_path: Path, weir: WeirSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setattr(writability, "LEAST_FREE_BYTES", 1_000_000)
    with disk(tmp_path / "small") as found:
        if not found.is_mounted:
            pytest.skip("a disk of its own cannot be mounted here")
        weir(
            home=found.path,
            least_free_mb=LEAST_MB,
            **{f"{name}_root": str(found.path / name) for name in ("lake", "runs")},
        )
        yield found


@pytest.fixture
def watched(db: None) -> Cluster:
    """One that nothing listens for: what matters is whether it is asked."""
    cache.clear()
    now = timezone.now()
    found = builders.cluster("c", at=now, url="http://127.0.0.1:9")
    DueWork.objects.ensure({"collect/0": 8}, now)
    return found


def collected() -> str:
    return perform("collect/0", even_if_not_due=True).state


def codes() -> set[str]:
    return set(Client().get("/readyz").json()["problems"])


def test_collecting_stops_before_the_disk_is_full_and_goes_on_by_itself(
    small: Disk, watched: Cluster
) -> None:
    assert collected() == Performed.DONE
    with small.full(LEFT_BYTES):
        assert collected() == Performed.IDLE
        tasks.tick()
        assert PipelineAlarm.objects.get(code=disk_budget.CODE).cleared_at is None
        assert disk_budget.CODE in codes() and "disk.full" not in codes()
    assert collected() == Performed.DONE
    tasks.tick()
    assert PipelineAlarm.objects.get(code=disk_budget.CODE).cleared_at is not None
    assert disk_budget.CODE not in codes()
    assert PipelineRun.objects.filter(kind="collect").count() == 2


def test_a_little_room_more_than_the_limit_does_not_start_it_again(
    small: Disk, watched: Cluster
) -> None:
    with small.full(4_100_000):
        assert disk_budget.problems() == []
    with small.full(LEFT_BYTES):
        tasks.tick()
    with small.full(4_100_000):
        assert [problem.code for problem in disk_budget.problems()] == [disk_budget.CODE]
    with small.full(5_000_000):
        assert disk_budget.problems() == []


def test_whoever_brings_something_is_told_why_it_is_not_taken(
    small: Disk, watched: Cluster
) -> None:
    _, token = issue(watched, "shipper", 30, timezone.now())
    lines = {
        "data": '{"log": "2026-11-24 05:00:00,001 INFO a.b.C [] - x"}',
        "content_type": "application/json",
    }
    ask = {"headers": {"Authorization": f"Bearer {token}"}, **lines}
    with small.full(LEFT_BYTES):
        answer = Client().post("/api/v1/push/logs/", **ask)
        assert (
            answer.status_code == 429 and "WEIR_LEAST_FREE_MB" in answer.json()["error"]["message"]
        )
        with pytest.raises(CommandError, match="Nothing is collected"):
            call_command("import_recording", str(recordings() / "1.20.5/E"), "--cluster", "case")
    assert Client().post("/api/v1/push/logs/", **ask).status_code == 200


def test_pages_and_metrics_say_that_nothing_is_collected(
    small: Disk, watched: Cluster, viewer: Client
) -> None:
    _, token = ApiToken.objects.issue(builders.person("prometheus"), "scrape")
    ask = {"headers": {"Authorization": f"Bearer {token}"}}
    assert "weir_collecting_stopped 0" in Client().get("/metrics", **ask).content.decode()
    DueWork.objects.update(next_attempt_at=timezone.now())
    with small.full(LEFT_BYTES):
        tasks.tick()
        cache.clear()
        for path in ("/", "/pipeline/", "/pipeline/kept/"):
            assert "Nothing is collected: the disk of" in viewer.get(path).content.decode(), path
        told = Client().get("/metrics", **ask).content.decode()
        assert "weir_collecting_stopped 1" in told
        assert f'weir_problem{{code="disk.budget",subject="{small.path}"}} 1' in told


def test_clusters_that_are_not_asked_are_not_silent_and_endpoints_are_told_why_nothing_is_collected(
    small: Disk, watched: Cluster
) -> None:
    at = timezone.now() - timezone.timedelta(minutes=10)
    Cluster.objects.update(
        last_success_at=at, last_collected_at=at, last_error="It refused the connection."
    )
    with small.full(LEFT_BYTES):
        tasks.tick()
        PipelineAlarm.objects.update(since=at)
        tasks.tick()
        found = Finding.objects.get(cluster__in=("c", ""))
    assert found.rule == "weir.behind" and "Nothing is collected" in found.cause


def test_weirs_own_size_is_limited_too(weir: WeirSettings, home: Path, watched: Cluster) -> None:
    weir(most_kept_mb=10)
    now = timezone.now()
    KeptSize.objects.create(area="lake", size_bytes=9_000_000, as_of=now)
    assert collected() == Performed.DONE
    KeptSize.objects.create(area="database", size_bytes=2_000_000, as_of=now)
    assert collected() == Performed.IDLE
    assert "Weir stores 11 MB, and may store 10 MB (WEIR_MOST_KEPT_MB)" in disk_budget.why_stopped()
