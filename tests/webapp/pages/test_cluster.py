"""What a cluster is and how it was: its page, that of a TaskManager, and their figures."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, event, finding, job, start, window
from tests.webapp.hosts.builders import host_event, lost, runs_on, taskmanager
from tests.webapp.pages.test_fleet import words
from webapp.alerting.evaluation import evaluate
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
PAGE = reverse("cluster", args=("prod-eu",))


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at, labels={"team": "payments"})
    return at


def figure(client, name, *of):
    return client.get(reverse(name, args=of)).json()["figure"]


def test_its_page_says_what_it_is_who_is_ill_and_what_happened(viewer, now):
    ill = job(at=now, name="orders", health=34)
    job(at=now, name="done", state="FAILED", terminal=True)
    runs_on("host-1", ill, now)
    seen = {"last_seen_at": now, "slots": 4}
    taskmanager("tm-1", "host-1", now - timedelta(hours=3), **seen)
    taskmanager("tm-2", "host-2", now - timedelta(hours=2), **seen)
    lost("tm-3", "host-3", now - timedelta(hours=1), ill)
    start(ill, now - timedelta(minutes=50), kind="restart")
    event(ill, "leadership_granted", now - timedelta(hours=4))
    finding(ill, at=now, severity="critical", title="slow back-pressures parse")
    evaluate(now)
    evaluate(now + timedelta(minutes=2))
    page = viewer.get(PAGE)
    text = words(page.content.decode().partition("<main")[2])
    for said in (
        "Flink 1.20.5",
        "team=payments",
        "Slots 8 1 used, 7 free",
        "Failed jobs ▲ 1",
        "slow back-pressures parse",
        "TaskManager tm-3 lost heartbeat timed out",
        "JobManager: leadership granted",
        "orders restarted",
    ):
        assert said in text, said
    assert page.context["taskmanagers"] == 2
    assert [row.job_name for row, _badge in page.context["alerts"]] == ["orders"]


def test_a_taskmanager_unseen_for_minutes_is_not_said_to_be_seen_now(viewer, now):
    seen = now - timedelta(minutes=5)
    taskmanager("tm-1", "host-1", now - timedelta(hours=3), last_seen_at=seen)
    page = viewer.get(PAGE)
    assert (page.context["taskmanagers"], page.context["taskmanagers_at"]) == (1, seen)
    assert f"last seen {seen:%m-%d %H:%M:%S}" in words(page.content.decode())


def test_what_nobody_reported_is_unknown_not_zero(viewer, now):
    page = viewer.get(PAGE)
    assert [page.context[name] for name in ("taskmanagers", "slots", "slots_used")] == [None] * 3
    assert "use not known" in page.content.decode()


def test_settings_are_behind_a_button_of_operators_with_what_is_default_folded(
    operator, viewer, now
):
    settings = reverse("cluster-edit", args=("prod-eu",))
    assert settings not in viewer.get(PAGE).content.decode()
    assert settings in operator.get(PAGE).content.decode()
    Cluster.objects.update(prometheus_url="http://127.0.0.1:9090")
    groups = operator.get(settings).context["form"].groups()
    assert [group.title for group in groups if group.is_open] == ["Where it is", "Prometheus"]
    refused = operator.post(reverse("cluster-add"), {"name": "x", "time_zone": "Mars/Base"})
    form = refused.context["form"]
    assert [str(group.title) for group in form.groups() if group.is_open][-1] == "Logs and metrics"


def test_a_removed_cluster_leads_to_its_jobs_and_an_unknown_one_nowhere(viewer, now):
    job(at=now)
    Cluster.objects.all().delete()
    assert viewer.get(PAGE).url == "/?cluster=prod-eu"
    assert viewer.get(reverse("cluster", args=("nowhere",))).status_code == 404


def test_charts_count_what_was_there_and_what_happened(viewer, now):
    of = job(at=now, start_time=now - timedelta(hours=2))
    taskmanager("tm-1", "host-1", now - timedelta(hours=30), slots=4, last_seen_at=now)
    lost("tm-2", "host-2", now - timedelta(hours=1), of)
    host_event("host-2", of, "failure", now - timedelta(hours=1))
    start(of, now - timedelta(minutes=50), kind="restart")
    start(of, now - timedelta(minutes=110), kind="start")
    there = figure(viewer, "cluster-chart-taskmanagers", "prod-eu")["data"]
    # Of the second one slots are not known, so that all slots are not either.
    assert [(line["name"], line["y"][0], line["y"][-1]) for line in there] == [
        ("TaskManagers", 1, 1)
    ]
    failures = figure(viewer, "cluster-chart-failures", "prod-eu")["data"]
    assert {bar["name"]: sum(bar["y"]) for bar in failures} == {
        "TaskManagers lost": 1,
        "failed tasks": 1,
        "restarts": 1,
    }


def test_where_nothing_was_seen_a_chart_says_so(viewer, now):
    for key in ("taskmanagers", "failures"):
        answer = viewer.get(reverse(f"cluster-chart-{key}", args=("prod-eu",))).json()
        assert answer["figure"] is None and answer["empty"]["title"]


def test_a_taskmanager_has_a_page_with_how_it_ended(viewer, now):
    of = job(at=now)
    lost("tm-3", "host-3", now - timedelta(hours=1), of)
    address = reverse("taskmanager", args=("prod-eu", "tm-3"))
    text = words(viewer.get(address).content.decode())
    assert "heartbeat timed out" in text and "TaskManager tm-3 lost" in text and "host-3" in text
    assert viewer.get(address.replace("tm-3", "tm-4")).status_code == 404
    assert viewer.get(address + "charts/memory").json()["figure"] is None


def test_a_vertex_shows_how_busy_it_was_and_what_it_moved(viewer, now):
    of = job(at=now)
    for minutes, busy in ((30, 200.0), (29, 800.0), (28, 400.0)):
        at = now - timedelta(minutes=minutes)
        window(of, "v3", at, busy_ms_per_s_max=busy, records_in_per_s=busy * 2)
    vertex = (of.cluster, of.job_id, "v3")
    busiest = figure(viewer, "vertex-chart-pressure", *vertex)["data"][0]
    assert (busiest["name"], busiest["y"]) == ("busiest subtask", [0.2, 0.8, 0.4])
    moved = figure(viewer, "vertex-chart-records", *vertex)["data"][0]
    assert moved["y"] == [400.0, 1600.0, 800.0]
