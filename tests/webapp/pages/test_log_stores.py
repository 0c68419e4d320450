"""Stores of logs on pages: how far each is read, and that its secret goes nowhere but to it."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster
from webapp.fleet.models import Cluster

ENTERED = {
    "name": "lab",
    "log_layout": "flink",
    "time_zone": "UTC",
    "metrics_interval_s": "30",
    "log_store_kind": "loki",
    "log_store_url": "http://127.0.0.1:9",
    "log_store_query": '{app="a"}',
    "log_store_auth_scheme": "bearer",
    "log_store_secret": "canary-4711",
}
EDIT = ("lab",)


def read(name, now, **more):
    return cluster(
        name,
        at=now,
        log_store_kind="loki",
        log_store_url=f"http://{name}:3100",
        log_store_query='{a="b"}',
        **more,
    )


@pytest.fixture
def stores(db):
    now = timezone.now()
    day = {"log_store_read_from": now - timedelta(hours=24)}
    read("well", now, log_store_read_to=now, **day)
    read("behind", now, log_store_read_to=now - timedelta(hours=6), **day)
    read(
        "failing",
        now,
        log_store_read_to=now - timedelta(hours=1),
        log_store_error="Loki at http://failing:3100: It answered HTTP 401.",
        **day,
    )
    read("fresh", now)
    cluster("without", at=now)


def test_the_clusters_page_says_how_far_a_store_is_read_and_why_no_further(viewer, stores):
    page = " ".join(viewer.get(reverse("clusters")).content.decode().split())
    assert "Loki: behind, lines up to 6 h ago" in page
    assert "Loki: not read yet" in page
    assert "Loki: cannot be read, lines up to 1 h ago Loki at http://failing:3100" in page
    assert "It answered HTTP 401" in page


def test_more_stores_cost_no_more_queries(viewer, stores, django_assert_max_num_queries):
    for number in range(60):
        read(f"more-{number}", timezone.now())
    with django_assert_max_num_queries(40):
        viewer.get(reverse("clusters"))


def test_a_store_is_entered_and_its_secret_is_on_no_page(operator):
    operator.post(reverse("cluster-add"), ENTERED)
    stored = Cluster.objects.get()
    assert stored.source().log_store.auth.secret == "canary-4711"
    for address in (
        reverse("clusters"),
        reverse("cluster-edit", args=EDIT),
        reverse("api-clusters-list"),
        reverse("pipeline"),
    ):
        body = operator.get(address).content.decode()
        assert "canary-4711" not in body
        assert stored.log_store_secret_encrypted not in body


def test_the_stored_secret_stays_when_it_is_left_empty_and_does_not_go_to_another_address(operator):
    operator.post(reverse("cluster-add"), ENTERED)
    kept = {**ENTERED, "log_store_secret": "", "log_store_query": '{app="b"}'}
    assert operator.post(reverse("cluster-edit", args=EDIT), kept).status_code == 302
    assert Cluster.objects.get().source().log_store.auth.secret == "canary-4711"
    moved = operator.post(
        reverse("cluster-edit", args=EDIT), {**kept, "log_store_url": "http://127.0.0.1:10"}
    )
    assert "enter the secret again" in str(moved.context["form"].errors["log_store_secret"])


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"log_store_url": ""}, "log_store_url"),
        ({"log_store_url": "http://169.254.169.254/"}, "log_store_url"),
        ({"log_store_query": "app"}, "log_store_query"),
        ({"log_store_kind": "opensearch"}, "log_store_index"),
        ({"log_store_auth_scheme": "basic"}, "log_store_auth_user"),
        ({"log_store_secret": ""}, "log_store_secret"),
        ({"log_store_backfill_h": "9999"}, "log_store_backfill_h"),
        ({"log_store_tenant": "a\r\nX-Admin: 1"}, "log_store_tenant"),
    ],
)
def test_a_store_that_makes_no_sense_is_refused_with_its_field(operator, changed, field):
    page = operator.post(reverse("cluster-add"), {**ENTERED, **changed})
    assert field in page.context["form"].errors
    assert not Cluster.objects.exists()


def test_an_old_error_goes_when_the_store_is_read_again(db):
    now = timezone.now()
    row = read("c", now, log_store_read_from=now, log_store_read_to=now)
    assert row.log_store_badge.word == "read"
    row.log_store_error = "away"
    assert row.log_store_badge.word == "cannot be read"
