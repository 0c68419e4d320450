"""Weir notices when it does not run, also when no worker is left to say so."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.cache import cache
from django.template import Context, Template
from django.test import Client
from django.utils import translation

from tests.webapp.builders import cluster
from tests.weir_settings import WeirSettings
from webapp.accounts.models import ApiToken, User
from webapp.fleet.freshness import silence_allowed
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.pipeline_status import alarms
from webapp.fleet.pipeline_status.status import recent_status, status
from webapp.lib import shown_zone
from webapp.pipeline import tasks
from webapp.work.models import DueWork, Heartbeat, PipelineAlarm

pytestmark = pytest.mark.django_db
NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _running(db: None) -> None:
    """Everything as it should be at NOW."""
    cache.clear()
    Heartbeat.objects.create(name="tick", at=NOW)
    DueWork.objects.create(key="collect/0", interval_s=30, next_attempt_at=NOW, last_success_at=NOW)
    DueWork.objects.create(
        key="spark/cycle", interval_s=30, next_attempt_at=NOW, last_success_at=NOW
    )


def codes(at: datetime = NOW) -> set[tuple[str, str]]:
    return {(problem.code, problem.subject) for problem in alarms.problems(at)}


def test_a_pipeline_that_runs_has_no_problem() -> None:
    assert codes() == set()


def test_a_beat_that_stopped_is_noticed() -> None:
    Heartbeat.objects.update(at=NOW - timedelta(minutes=2))
    assert codes() == {("beat.silent", "tick")}


def test_work_that_nobody_takes_up_names_the_queue_that_lacks_a_worker() -> None:
    DueWork.objects.filter(key="spark/cycle").update(next_attempt_at=NOW - timedelta(minutes=5))
    found = alarms.problems(NOW)
    assert [(problem.code, problem.subject) for problem in found] == [
        ("work.waiting", "spark/cycle")
    ]
    assert "a worker of queue spark" in found[0].detail


def daily_audit(**fields: object) -> None:
    DueWork.objects.create(
        **{
            "key": "storage/audit/1",
            "interval_s": 86_400,
            "next_attempt_at": NOW - timedelta(minutes=3),
        }
        | fields
    )


def test_a_queue_whose_worker_takes_up_nothing_is_noticed_within_minutes_though_its_work_is_done_once_a_day() -> (
    None
):
    daily_audit(last_started_at=NOW - timedelta(days=1))
    assert codes() == {("work.waiting", "storage/audit/1")}


def test_a_worker_that_was_frozen_in_the_middle_of_its_work_is_noticed_once_its_lease_is_over() -> (
    None
):
    daily_audit(lease_until=NOW - timedelta(seconds=1), last_started_at=NOW - timedelta(minutes=2))
    assert codes() == {("work.waiting", "storage/audit/1")}


def test_work_that_waits_behind_other_work_of_its_queue_is_not_reported() -> None:
    daily_audit(last_started_at=NOW - timedelta(days=1))
    daily_audit(
        key="storage/audit/2",
        lease_until=NOW + timedelta(minutes=1),
        last_started_at=NOW - timedelta(hours=1),
        last_success_at=NOW,
    )
    assert codes() == set()


def test_probe_and_metrics_say_that_work_is_due_and_not_taken_up(weir: WeirSettings) -> None:
    weir(metrics_public=True)
    tasks.tick()
    DueWork.objects.update(next_attempt_at=datetime.now(UTC) + timedelta(hours=1))
    daily_audit(next_attempt_at=datetime.now(UTC) - timedelta(minutes=3))
    client = Client()
    assert client.get("/readyz").json() == {"ready": False, "problems": ["work.waiting"]}
    assert (
        'weir_problem{code="work.waiting",subject="storage/audit/1"} 1'
        in client.get("/metrics").content.decode()
    )


def test_a_problem_is_kept_in_english_and_utc_and_shown_in_the_language_and_zone_of_the_page() -> (
    None
):
    DueWork.objects.filter(key="spark/cycle").update(next_attempt_at=NOW - timedelta(minutes=5))
    page = Template("{{ detail|translated|in_zone }}")
    with translation.override("zh-hans"), shown_zone.within(lambda: ZoneInfo("Asia/Shanghai")):
        detail = alarms.problems(NOW)[0].detail
        shown = page.render(Context({"detail": detail}))
    assert detail.startswith(
        "It has been due since 2025-03-01 11:55:00 UTC, and no worker has started it"
    )
    assert (
        shown == "自 2025-03-01 19:55:00 +08:00 起到期，却无人接手：队列 spark 的 worker 在运行吗？"
    )


def test_work_that_is_in_progress_is_not_waiting() -> None:
    DueWork.objects.update(
        next_attempt_at=NOW - timedelta(minutes=5),
        lease_until=NOW + timedelta(minutes=1),
        last_success_at=NOW,
    )
    assert codes() == set()


def test_work_that_takes_far_longer_than_its_interval_is_noticed() -> None:
    hour_ago = NOW - timedelta(hours=1)
    DueWork.objects.filter(key="collect/0").update(
        next_attempt_at=hour_ago, lease_until=NOW + timedelta(minutes=1), last_success_at=hour_ago
    )
    assert codes() == {("work.slow", "collect/0")}


def test_work_that_keeps_failing_says_why() -> None:
    DueWork.objects.filter(key="collect/0").update(
        failures=3, last_error="The lake cannot be written."
    )
    found = alarms.problems(NOW)
    assert found[0].code == "work.failing"
    assert "The lake cannot be written." in found[0].detail


def test_an_alarm_opens_once_and_closes_when_it_is_over() -> None:
    Heartbeat.objects.update(at=NOW - timedelta(minutes=2))
    alarms.record_alarms(alarms.problems(NOW), NOW)
    alarms.record_alarms(alarms.problems(NOW), NOW + timedelta(minutes=1))
    assert PipelineAlarm.objects.get().since == NOW
    alarms.record_alarms([], NOW + timedelta(minutes=2))
    assert PipelineAlarm.objects.get().cleared_at == NOW + timedelta(minutes=2)


def test_live_clusters_without_news_make_the_data_stale() -> None:
    cluster = Cluster.objects.create(name="c", last_collected_at=NOW, last_success_at=NOW)
    assert not status(NOW).is_stale
    Cluster.objects.filter(pk=cluster.pk).update(last_success_at=NOW - timedelta(hours=1))
    assert status(NOW).is_stale
    assert status(NOW).unreachable_clusters == 1


def test_recordings_are_never_stale() -> None:
    Cluster.objects.create(name="r", kind="recording")
    DueWork.objects.update(last_success_at=NOW - timedelta(days=9))
    assert not status(NOW).is_stale


def test_the_status_is_cached_for_a_moment_only(django_assert_num_queries: object) -> None:
    first = recent_status()
    assert recent_status() == first


def test_probes_say_whether_the_process_lives_and_whether_weir_runs() -> None:
    client = Client()
    assert client.get("/healthz").content == b"ok\n"
    answer = client.get("/readyz")  # by the clock of today, nothing has run since 2025
    assert answer.status_code == 503
    assert "beat.silent" in answer.json()["problems"]
    tasks.tick()
    DueWork.objects.update(next_attempt_at=datetime.now(UTC) + timedelta(hours=1))
    assert client.get("/readyz").json() == {"ready": True, "problems": []}


def test_metrics_need_a_token_or_a_sign_in() -> None:
    client = Client()
    assert client.get("/metrics").status_code == 401
    user = User.objects.create_user("prometheus")
    _, text = ApiToken.objects.issue(user, "scrape")
    Cluster.objects.create(name='c"1', url="http://h:1")
    JobCurrent.objects.create(cluster="c", job_id="j", state="RUNNING", last_seen_at=NOW, as_of=NOW)
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 200
    body = answer.content.decode()
    assert 'weir_cluster_visibility{cluster="c\\"1",visibility="new"} 1' in body
    assert 'weir_jobs{state="UNKNOWN"} 1' in body
    assert body.endswith("\n")


def test_a_tick_makes_the_rows_that_are_needed_and_drops_those_of_empty_shards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hinted: list[str] = []
    monkeypatch.setattr(tasks, "hint_at", lambda key, after: hinted.append(key))
    Cluster.objects.create(name="c", url="http://h:1", shard=2)
    tasks.tick()
    always = {
        "spark/cycle",
        "alerts/evaluate",
        "delivery/send",
        "maintenance/retention",
        "maintenance/lake",
        "maintenance/sizes",
        "rollups/checkpoints",
        "growth/days",
        "pressure/hours",
    }
    assert set(DueWork.objects.values_list("key", flat=True)) == {"collect/2", *always}
    assert "collect/2" in hinted


def test_a_cluster_that_answered_by_a_clock_that_was_set_back_is_soon_not_seen(db: None) -> None:
    now = datetime.now(UTC)
    cluster(at=now + timedelta(days=1))
    tasks.tick()
    assert not Cluster.objects.unseen(now).exists()
    assert Cluster.objects.unseen(now + silence_allowed() + timedelta(minutes=1)).exists()
