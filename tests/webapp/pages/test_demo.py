"""The demo: registered, marked, led through, removed."""

import os
import time

import pytest
from django.utils import timezone

from ingest.replay.shipped import CLUSTERS, REMOVED
from tests.webapp.builders import cluster, declined, finding, job
from tests.webapp.storage.builders import audit, root_figures
from webapp.findings.models import Finding
from webapp.fleet import demo
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
PORTS = range(18_000, 18_000 + len(CLUSTERS))
MARK = "demo, recorded 2026-11-21"


@pytest.fixture
def played(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    settings.WEIR = type(
        "Given",
        (),
        {
            "__getattr__": lambda _self, name, given=settings.WEIR: getattr(given, name),
            "home": tmp_path,
        },
    )()
    demo.folder().mkdir()
    (demo.folder() / "ports").write_text(" ".join(str(port) for port in PORTS))
    return demo.register_clusters()


def test_every_recording_is_a_live_cluster_at_the_port_of_this_run(played):
    assert played == len(CLUSTERS)
    assert set(Cluster.objects.live().values_list("name", flat=True)) == CLUSTERS
    (demo.folder() / "ports").write_text(" ".join(str(port + 100) for port in PORTS))
    demo.register_clusters()
    assert Cluster.objects.count() == len(CLUSTERS)
    assert (
        Cluster.objects.get(name="demo-payments").url
        == f"http://127.0.0.1:{PORTS[0] + 100}/demo-payments"
    )


def test_one_that_somebody_removed_stays_away_and_a_name_that_is_taken_is_left_alone(played):
    Cluster.objects.get(name="demo-web").delete()
    Cluster.objects.filter(name="demo-risk").update(labels={}, url="http://mine:8081")
    demo.register_clusters()
    assert not Cluster.objects.filter(name="demo-web").exists()
    assert Cluster.objects.get(name="demo-risk").url == "http://mine:8081"


def test_where_nothing_plays_nothing_is_asked(played):
    demo.pause()
    assert not Cluster.objects.collected().exists()


def test_the_fleet_page_leads_through_it_and_marks_its_jobs(operator, played):
    sick = job("demo-payments", at=timezone.now(), name="payments-enrich", health=20)
    origin = finding(
        job("demo-search", at=timezone.now()),
        "pressure.root",
        timezone.now(),
        subject="slow-enrich",
    )
    page = operator.get("/").content.decode()
    assert f'href="/jobs/demo-payments/{sick.job_id}/">payments-enrich</a>' in page
    assert f'href="/findings/{origin.pk}/">slow-enrich</a>' in page
    assert MARK in page
    assert "Remove the demo" in page


def test_what_there_is_nothing_of_is_left_out_of_the_way(operator, played):
    assert [stop.title for stop in operator.get("/").context["stops"]] == ["Your own"]
    of = job("demo-payments", at=timezone.now())
    declined(of, 3, timezone.now())
    root_figures(
        audit(as_of=timezone.now()), "file:/opt/l/lab/run/1.20.5-I", orphan_bytes=17_566_752
    )
    shown = operator.get("/").context["stops"]
    assert [stop.title for stop in shown] == [
        "Sickest job",
        "Failed checkpoint",
        "Orphans",
        "Your own",
    ]
    assert (shown[2].what, shown[2].url) == (
        "18 MB of demo-accounting",
        "/storage/root/?uri=file%3A%2Fopt%2Fl%2Flab%2Frun%2F1.20.5-I",
    )
    for stop in shown:
        assert operator.get(stop.url).status_code == 200


def test_without_a_demo_there_is_no_way_through_it(operator):
    cluster(at=timezone.now())
    page = operator.get("/").content.decode()
    assert "Through the demo" not in page
    assert MARK not in page


def test_looking_at_the_fleet_keeps_it_going(viewer, played):
    looked = demo.folder() / "looked"
    os.utime(looked, (0, 0))
    viewer.get("/")
    assert looked.stat().st_mtime > time.time() - 60


def test_a_button_removes_all_of_it_and_nothing_else(operator, viewer, played):
    cluster("mine", at=timezone.now())
    found = finding(job("demo-payments", at=timezone.now()))
    assert viewer.post("/demo/remove/").status_code == 403
    operator.post("/demo/remove/")
    assert [one.name for one in Cluster.objects.all()] == ["mine"]
    assert (demo.folder() / REMOVED).exists()
    assert Finding.objects.get(pk=found.pk).state == "closed"
