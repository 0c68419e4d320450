"""What Weir reads of a cluster is said by who sees the whole fleet, and never leads into Weir's own
folder.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.test import Client
from django.urls import reverse

from tests.webapp.builders import cluster, person
from webapp.accounts.models import AuditEntry
from webapp.fleet.forms import ClusterForm
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import HOW_READ, READ_FIELDS, SECRETS
from webapp.lib import grants, scopes
from webapp.storage.models import StorageRoot

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def of_payments(*, everything: bool = False) -> Client:
    """An operator who sees the clusters of one team, or all."""
    user = person("olga", operator=True)
    user.sees = None if everything else grants.as_json(grants.parse('team="payments"'))
    user.save()
    client = Client()
    client.force_login(user)
    return client


def payments(**fields: Any) -> Cluster:
    return cluster("payments", at=AT, labels={"team": "payments"}, **fields)


def entered(**fields: Any) -> dict[str, Any]:
    return {
        "url": "http://127.0.0.1:8081",
        "metrics_interval_s": "30",
        "verify_tls": "on",
        "time_zone": "UTC",
    } | fields


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("log_globs", "/var/log/other-team/*.log"),
        ("url", "http://127.0.0.1:9999"),
        ("prometheus_url", "http://127.0.0.1:9090"),
        ("log_store_url", "http://127.0.0.1:3100"),
        ("secret", "another password"),
    ],
)
def test_a_scoped_operator_does_not_change_what_is_read(field: str, value: str) -> None:
    mine, client = payments(), of_payments()
    before = Cluster.objects.filter(pk=mine.pk).values(*READ_FIELDS).get()
    for button in ({}, {"test": "1"}):
        answer = client.post(
            reverse("cluster-edit", args=["payments"]), entered(**{field: value}, **button)
        )
        assert answer.status_code == 403 and field in answer.content.decode()
        assert Cluster.objects.filter(pk=mine.pk).values(*READ_FIELDS).get() == before
    codes = AuditEntry.objects.order_by("pk").values_list("action", "outcome")
    assert list(codes) == [("cluster.change", "refused"), ("cluster.test", "refused")]


def test_the_form_shows_a_scoped_operator_what_is_read_and_why_it_cannot_be_changed() -> None:
    payments(log_globs=["/var/log/flink/*.log"])
    page = of_payments().get(reverse("cluster-edit", args=["payments"]))
    form, text = page.context["form"], page.content.decode()
    assert {name for name, field in form.fields.items() if not field.disabled} == HOW_READ
    assert "/var/log/flink/*.log" in text and "see the whole fleet" in text


def test_a_scoped_operator_does_not_change_where_a_root_is_read() -> None:
    root, client = StorageRoot.objects.create(uri="s3://bucket/payments"), of_payments()
    root.clusters.add(mine := payments())
    form = {
        "kind": "checkpoints",
        "clusters": [mine.pk],
        "read_at": "s3://bucket/other-team",
        "enabled": "on",
    }
    assert client.post(reverse("storage-root-edit", args=[root.pk]), form).status_code == 403
    assert StorageRoot.objects.get().read_at == ""


@pytest.mark.parametrize("place", ["{home}", "{home}/secrets", "{above}", "file://{home}/lake"])
def test_nobody_registers_weirs_own_folder_as_a_root(place: str) -> None:
    home = Path(os.environ["WEIR_HOME"])
    path = place.format(home=home, above=home.parent)
    client, form = of_payments(everything=True), {"kind": "checkpoints", "enabled": "on"}
    for entered_places in (
        {"uri": path},
        {"uri": "s3://bucket/a", "read_at": path},
        {"uri": "s3://bucket/a", "quarantine_uri": path},
    ):
        page = client.post(reverse("storage-root-add"), {**form, **entered_places})
        assert {"uri", "read_at", "quarantine_uri"} & page.context["form"].errors.keys()
    assert not StorageRoot.objects.exists()


def test_a_scoped_operator_changes_how_often_is_asked() -> None:
    mine, client = payments(), of_payments()
    answer = client.post(
        reverse("cluster-edit", args=["payments"]), entered(metrics_interval_s="120")
    )
    mine.refresh_from_db()
    assert (answer.status_code, mine.metrics_interval_s, mine.url) == (
        302,
        120,
        "http://127.0.0.1:8081",
    )


def test_who_sees_the_whole_fleet_changes_what_is_read() -> None:
    mine, client = payments(), of_payments(everything=True)
    client.post(
        reverse("cluster-edit", args=["payments"]), entered(log_globs="/var/log/flink/*.log")
    )
    mine.refresh_from_db()
    assert mine.log_globs == ["/var/log/flink/*.log"]


def test_no_door_saves_what_is_read_for_who_sees_a_part() -> None:
    mine = payments()
    mine.log_globs = ["/var/log/other-team/*.log"]
    with scopes.within(scopes.OfClusters(["payments"])), pytest.raises(PermissionDenied):
        mine.save()


def test_every_field_of_the_form_is_said_to_be_one_of_the_two() -> None:
    assert {*ClusterForm.Meta.fields[1:], *SECRETS} == READ_FIELDS | HOW_READ


@pytest.mark.parametrize("field", ["log_globs"])
@pytest.mark.parametrize("place", ["secrets/*", "pushed/other-team/*", "../{home}/db.sqlite3", ""])
def test_nobody_enters_a_path_of_weirs_own_folder(field: str, place: str) -> None:
    home = Path(settings.WEIR.home)
    path = f"{home}/{place.format(home=home.name)}"
    mine = Cluster(name="new", url="http://127.0.0.1:8081")
    setattr(mine, field, [path])
    with pytest.raises(ValidationError) as refused:
        mine.full_clean()
    assert field in refused.value.message_dict


def test_a_chain_of_file_systems_is_no_way_around() -> None:
    mine = Cluster(
        name="new",
        url="http://127.0.0.1:8081",
        log_globs=[f"simplecache::file://{settings.WEIR.home}/secrets/*"],
    )
    with pytest.raises(ValidationError):
        mine.full_clean()
