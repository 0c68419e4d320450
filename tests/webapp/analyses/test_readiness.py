"""Which jobs could go on without the storage of their checkpoints, and what a move would cost."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.webapp.analyses.answers import advice_of, facts_of, tables_of
from tests.webapp.builders import cluster, fact, job, person, replica
from tests.webapp.storage.builders import audit, checkpoint_storage, root_figures
from webapp.analyses.fleet.readiness import fleet_readiness
from webapp.findings.models import ThresholdOverride
from webapp.replication.models import Replica
from webapp.replication.work_keys import key_of
from webapp.work.models import PipelineRun

pytestmark = pytest.mark.django_db
OTHER = "s3://elsewhere/savepoints"
CONFIG = {"mode": "exactly_once", "min_pause_ms": 0}


@pytest.fixture
def now(monkeypatch):
    at = timezone.now()
    monkeypatch.setattr("django.utils.timezone.now", lambda: at)
    cluster("prod-eu", at=at)
    return at


@pytest.fixture
def of(now):
    of = audit(as_of=now)
    root_figures(of, "s3://prod/checkpoints")
    root_figures(of, OTHER)
    return of


def on_prod(now, name, **fields):
    made = job("prod-eu", at=now, name=name, checkpoint_config=CONFIG, **fields)
    made.last_completed_path = f"s3a://prod/checkpoints/{made.job_id}/chk-10"
    made.save(update_fields=["last_completed_path"])
    return made


def snapshot(of, owner, number, uri="s3://prod/checkpoints", **fields):
    return checkpoint_storage(
        of, number, owner.job_id, uri, cluster="prod-eu", metadata_bytes=1_000, **fields
    )


def answered(viewer):
    return viewer.get(reverse("api-analysis-readiness")).json()


def rows(document, table="jobs"):
    return {row["job"]: row for row in tables_of(document)[table]["rows"]}


def test_a_recent_complete_copy_on_another_storage_is_ready_until_it_is_too_old(viewer, now, of):
    orders = on_prod(now, "orders")
    replica(orders, now)
    document = answered(viewer)
    row = rows(document)["orders"]
    assert (row["state"], row["age_ms"], row["storage"]) == ("ready", 40_000, "s3://prod")
    assert row["copy"].startswith("s3://elsewhere/copies/")
    assert document["verdict"]["tone"] == "ok" and not advice_of(document)
    ThresholdOverride.objects.create(key="replication.lag.behind_s", value=30)
    document = answered(viewer)
    assert rows(document)["orders"]["state"] == "copy too old"
    assert document["verdict"]["tone"] == "warn"
    Replica.objects.update(triggered_at=None)
    document = answered(viewer)
    assert (rows(document)["orders"]["state"], document["verdict"]["tone"]) == (
        "Not known",
        "unknown",
    )


def test_a_copy_on_the_same_storage_or_that_is_not_complete_is_none_elsewhere(viewer, now, of):
    for name, change in (
        ("beside", {"destination": "s3a://prod/copies"}),
        ("begun", {"checkpoint_id": None}),
    ):
        made = replica(on_prod(now, name), now)
        Replica.objects.filter(pk=made.pk).update(
            name=name, **{"destination": f"s3://{name}/x"} | change
        )
    found = {name: row["state"] for name, row in rows(answered(viewer)).items()}
    assert found == {"begun": "no copy elsewhere", "beside": "copy on the same storage"}
    assert len(advice_of(answered(viewer))) == 2


def test_a_whole_savepoint_elsewhere_is_a_copy_and_one_with_files_of_others_is_not(viewer, now, of):
    for name, fields in (
        ("whole", {}),
        ("needs others", {"self_contained": False}),
        ("lacks files", {"missing_files": 1, "resolvable": False}),
        ("not sure", {"resolvable": None}),
    ):
        owner = on_prod(now, name)
        saved = {"is_savepoint": True, "modified": now - timedelta(minutes=4), **fields}
        snapshot(of, owner, 8, OTHER, **saved)
        fact(owner, 8, now - timedelta(minutes=5), is_savepoint=True)
    found = rows(answered(viewer))
    assert (found["whole"]["state"], found["whole"]["age_ms"]) == ("ready", 300_000)
    assert {found[name]["state"] for name in ("needs others", "lacks files", "not sure")} == {
        "no copy elsewhere"
    }


def test_a_move_costs_what_the_newest_whole_snapshot_needs_at_the_rate_of_its_storage(
    viewer, now, of
):
    orders = on_prod(now, "orders")
    snapshot(of, orders, 7, relocatable=True, modified=now - timedelta(hours=2))
    snapshot(of, orders, 8, files=9, bytes=9_000_000, self_contained=False)
    snapshot(of, orders, 9, files=99, missing_files=1, resolvable=False)
    row = rows(answered(viewer))["orders"]
    assert (row["files"], row["bytes"], row["move_ms"]) == (10, 9_001_000, None)
    assert row["self_contained"] is False
    assert row["relocatable_ms"] == 7_200_000
    assert "s3://prod" in str(answered(viewer)["blocks"])
    copy = replica(on_prod(now, "copied"), now)
    for number, (copied_bytes, copied_files, took_ms) in enumerate(
        ((10_000_000, 100, 10_000), (5_000_000, 50, 5_000), (10, 1, 9_000), (0, 0, 9_000))
    ):
        PipelineRun.objects.create(
            kind="storage",
            key=key_of(copy),
            attempt=f"storage-{number}",
            state="done",
            started_at=now - timedelta(hours=number),
            duration_ms=took_ms,
            counts={"copied_bytes": copied_bytes, "copied_files": copied_files},
        )
    document = answered(viewer)
    assert rows(document)["orders"]["move_ms"] == pytest.approx(9_001)
    (storage,) = tables_of(document)["storages"]["rows"]
    assert (storage["jobs"], storage["known"], storage["bytes_per_s"]) == (2, 1, 1_000_000)


def test_nothing_is_taken_from_a_directory_that_several_clusters_may_write(viewer, now, of):
    orders = on_prod(now, "orders")
    checkpoint_storage(of, 8, orders.job_id, OTHER, cluster="", is_savepoint=True)
    row = rows(answered(viewer))["orders"]
    assert (row["state"], row["files"], row["self_contained"]) == ("no copy elsewhere", None, None)


def test_people_see_jobs_of_their_clusters_with_the_rate_of_their_own_copies(now, of):
    on_prod(now, "orders")
    cluster("prod-us", at=now, labels={"team": "us"})
    theirs = job("prod-us", at=now, name="theirs", last_completed_path="s3://prod/c/chk-1")
    copy = replica(theirs, now)
    PipelineRun.objects.create(
        kind="storage",
        key=key_of(copy),
        attempt="storage-1",
        state="done",
        started_at=now,
        duration_ms=1_000,
        counts={"copied_bytes": 5_000, "copied_files": 5},
    )
    ann = person("ann")
    call_command("scope_user", "ann", 'team="us"', stdout=StringIO())
    ann.refresh_from_db()
    client = Client()
    client.force_login(ann)
    document = answered(client)
    assert set(rows(document)) == {"theirs"}
    (storage,) = tables_of(document)["storages"]["rows"]
    assert (storage["jobs"], storage["bytes_per_s"]) == (1, 5_000)


def test_the_number_of_queries_does_not_grow_with_the_fleet(now, of, django_assert_num_queries):
    for number in range(3):
        owner = on_prod(now, f"job-{number}")
        snapshot(of, owner, 7)
        snapshot(of, owner, 8, OTHER, is_savepoint=True, modified=now)
    with CaptureQueriesContext(connection) as few:
        fleet_readiness(now)
    for number in range(20):
        snapshot(of, on_prod(now, f"more-{number}"), 8, OTHER, is_savepoint=True, modified=now)
    with django_assert_num_queries(len(few)):
        assert len(fleet_readiness(now).jobs) == 23


def test_a_job_that_has_ended_needs_no_copy_and_a_fleet_without_jobs_is_unknown(viewer, now):
    on_prod(now, "ended", terminal=True, state="FINISHED")
    document = answered(viewer)
    assert document["verdict"]["tone"] == "unknown" and facts_of(document) == {}
