"""Clusters of a Kubernetes, from the API server to the pages: they come, go, keep labels, and what
their operator says is shown.

The API server is one of the tests over HTTPS (:mod:`tests.kubernetes_api`), signed in to by a
kubeconfig.
"""

import json
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from ingest.discovery.kubernetes import reading
from tests import kubernetes_objects as objects
from tests.kubernetes_api import KubernetesApi, status
from tests.webapp.builders import job
from webapp.findings import unreachable_clusters
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster, JobCurrent, SourceReading
from webapp.fleet.pipeline_status.status import status as status_of_pipeline
from webapp.pipeline import discovering
from webapp.work.models import DueWork
from webapp.work.perform import perform
from webapp.work.registry import intervals_s

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(tmp_path, settings, db):
    cache.clear()
    reading._listed.clear()
    server = KubernetesApi(tmp_path)
    (tmp_path / "sources.yml").write_text(
        f"sources: [{{name: k8s, kubernetes: {{kubeconfig: {server.kubeconfig()}}}}}]"
    )
    object.__setattr__(settings.WEIR, "sources", str(tmp_path / "sources.yml"))
    yield server
    object.__setattr__(settings.WEIR, "sources", "")
    server.stop()


def follow():
    DueWork.objects.ensure(intervals_s(), timezone.now())
    SourceReading.objects.update(due_at=timezone.now())
    perform(discovering.KEY, even_if_not_due=True)


def visible():
    return {row.name: str(row.visibility) for row in Cluster.objects.all()}


def seen(name):
    """As after a cycle in which its JobManager answered."""
    now = timezone.now()
    Cluster.objects.filter(name=name).update(last_collected_at=now, last_success_at=now)


def test_clusters_come_and_go_and_keep_their_labels(api, operator):
    orders = objects.deployment("orders", team="shop", environment="prod")
    api.put("flinkdeployments", orders)
    api.put("services", objects.rest_service("bills", "money", port=80))
    follow()
    rows = Cluster.objects.order_by("name").values_list("name", "url", "labels", "found_by")
    assert list(rows) == [
        ("money.bills", "http://bills-rest.money:80", {"namespace": "money"}, "k8s"),
        (
            "shop.orders",
            "http://orders-rest.shop:8081",
            {"namespace": "shop", "team": "shop", "environment": "prod"},
            "k8s",
        ),
    ]
    api.delete("flinkdeployments", orders)
    follow()
    assert visible() == {"money.bills": "new", "shop.orders": "left"}
    listed = operator.get(reverse("clusters"), {"label": "namespace=money"}).content.decode()
    assert "money.bills" in listed and "shop.orders" not in listed


def test_an_api_server_that_refuses_changes_nothing_and_the_pipeline_page_says_why(api, operator):
    api.put("flinkdeployments", objects.deployment("orders"))
    follow()
    api.odd = {"flinkdeployments": status(403)}
    follow()
    assert visible() == {"shop.orders": "new"}
    page = operator.get(reverse("pipeline")).content.decode()
    assert "RBAC does not allow" in page and "canary" not in page


def test_a_jobmanager_that_the_operator_cannot_bring_up_is_shown_as_that_and_its_job_is_not_healthy(
    api, viewer
):
    api.put("flinkdeployments", objects.deployment("orders"))
    follow()
    seen("shop.orders")
    assert visible() == {"shop.orders": "live"}
    found = job("shop.orders", at=timezone.now())
    api.put("flinkdeployments", objects.deployment("orders", status=objects.FAILED_DEPLOY))
    follow()
    assert visible() == {"shop.orders": "broken"}
    unreachable_clusters.watch(timezone.now())
    ((state, health),) = [
        (row.status, row.health) for row in JobCurrent.objects.with_status(timezone.now())
    ]
    assert state == "UNKNOWN" and health is None
    page = viewer.get(reverse("clusters")).content.decode()
    assert "not running" in page and "CrashLoopBackOff" in page and "1 not seen" in page
    assert (
        "CrashLoopBackOff"
        in viewer.get(reverse("job", args=("shop.orders", found.job_id))).content.decode()
    )
    (row,) = viewer.get("/api/v1/clusters/").json()["results"]
    assert row["visibility"] == "broken" and "CrashLoopBackOff" in row["operator"]["error"]


def test_silence_of_what_is_meant_to_be_suspended_is_no_finding_and_of_what_is_not_says_the_operators_words(
    api,
):
    api.put("flinkdeployments", objects.deployment("rests", status=objects.SUSPENDED))
    api.put("flinkdeployments", objects.deployment("broken", status=objects.FAILED_DEPLOY))
    follow()
    long_ago = timezone.now() - timedelta(hours=1)
    Cluster.objects.update(
        created_at=long_ago,
        last_collected_at=timezone.now(),
        consecutive_failures=9,
        last_error="It cannot be reached.",
    )
    unreachable_clusters.watch(timezone.now())
    (silent,) = Finding.objects.open().filter(rule="collect.blind")
    assert silent.cluster == "shop.broken" and "CrashLoopBackOff" in json.dumps(
        [silent.evidence, silent.cause, silent.data]
    )
    assert visible() == {"shop.rests": "suspended", "shop.broken": "broken"}
    assert status_of_pipeline(timezone.now()).unreachable_clusters == 1


def test_what_the_operator_says_changes_without_the_cluster_being_called_changed(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    follow()
    Cluster.objects.update(cursor={"rest": {"seen": 1}})
    api.put("events", objects.event("SpecChanged", objects.UPGRADE, objects.STARTED_MS))
    follow()
    row = Cluster.objects.get()
    (event,) = row.source().operator_events
    assert (event.reason, event.job_id, row.cursor) == (
        "SpecChanged",
        objects.JOB,
        {"rest": {"seen": 1}},
    )


def test_the_command_says_what_would_come_change_and_leave(api, capsys):
    api.put("flinkdeployments", objects.deployment("orders"))
    api.odd = {"/events": status(403)}
    call_command("discover")
    said = capsys.readouterr().out
    assert (
        "k8s (kubernetes:" in said
        and "come     shop.orders" in said
        and "refused  /api/v1/events" in said
    )
    assert not Cluster.objects.exists()
    api.odd = {}
    call_command("discover", apply=True)
    capsys.readouterr()
    api.put("services", objects.rest_service("orders", port=80))
    call_command("discover")
    assert "change   shop.orders" in capsys.readouterr().out
