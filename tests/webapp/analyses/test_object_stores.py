"""One trouble of a bucket: several jobs and clusters, one verdict, one notice."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ingest.messages import message
from tests.webapp.alerting.builders import look, looks, opened, somebody_listens, told
from tests.webapp.analyses.answers import advice_of, tables_of
from tests.webapp.builders import cluster, finding, job, person
from webapp.accounts.models import User
from webapp.incidents.models import Incident

pytestmark = pytest.mark.django_db
THROTTLED, REFUSED = "STORE_THROTTLED", "STORE_REFUSED"


def data_of(store, fault=THROTTLED, counts=None, **more):
    counts = counts or {"checkpoint": 2}
    return {"store": store, "fault": fault, "shared": f"{store} {fault}", "cause": fault,
            "prefixes": ["flink/ck"], "counts": counts, "is_assumed": False, **more}  # fmt: skip


def fails(of, at, store="s3://lake", fault=THROTTLED, more=None, **fields):
    title = message("{store:name} throttles requests (503 or 429)", store=store)
    return finding(
        of,
        "store.faults",
        at,
        severity="warning",
        subject_kind="store",
        subject_id=f"{store} {fault}",
        subject=store,
        title=title,
        data=data_of(store, fault, **(more or {})),
        **fields,
    )


@pytest.fixture
def now(db):
    at = timezone.now()
    for name in ("prod-eu", "prod-us", "prod-ap"):
        cluster(name, at=at)
    return at


def answered(viewer):
    return viewer.get(reverse("api-analysis-object-stores")).json()


def resources(document):
    rows = tables_of(document)["stores"]["rows"]
    return {(row["store"], row["fault"]): (row["jobs"], row["clusters"]) for row in rows}


WORDS = "the object store throttles requests"


def test_one_bucket_is_one_trouble_of_all_jobs_and_clusters_that_meet_it(viewer, now):
    for number in range(6):
        name = ("prod-eu", "prod-us", "prod-ap")[number % 3]
        fails(job(name, at=now, name=f"job-{number}", configuration={}), now)
    document = answered(viewer)
    assert document["verdict"] == {
        "tone": "crit",
        "sentence": "s3://lake throttles requests (503 or 429): 6 jobs in 3 clusters.",
    }
    assert resources(document) == {("s3://lake", WORDS): (6, 3)}
    assert any("s3.entropy.key is not set for 6 jobs" in line for line in advice_of(document))
    assert len(tables_of(document)["jobs"]["rows"]) == 6


def test_retries_and_prefixes_of_all_jobs_are_counted_by_bucket(viewer, now):
    tried = {"counts": {"retried": 7, "task": 1}, "prefixes": ["flink/ck", "flink/sp"]}
    fails(job("prod-eu", at=now, name="a", configuration={}), now, more=tried)
    fails(
        job("prod-us", at=now, name="b", configuration={}),
        now,
        more={**tried, "prefixes": ["flink/sp", "x"]},
    )
    fails(job("prod-ap", at=now, name="c", configuration={}), now, "s3://other")
    rows = {row["store"]: row for row in tables_of(answered(viewer))["stores"]["rows"]}
    lake, other = rows["s3://lake"], rows["s3://other"]
    assert (lake["retries"], lake["failures"], lake["checkpoints"]) == (14, 2, 0)
    assert (other["retries"], other["checkpoints"]) == (0, 2)
    assert all(prefix in lake["prefixes"] for prefix in ("flink/ck", "flink/sp", "x"))
    assert other["prefixes"] == "flink/ck"


def test_two_buckets_two_kinds_of_fault_and_two_times_are_not_one(viewer, now):
    fails(job("prod-eu", at=now, configuration={}), now)
    fails(job("prod-us", at=now, configuration={}), now, "s3://pond")
    fails(job("prod-us", at=now, configuration={}), now, fault=REFUSED)
    before = now - timedelta(hours=6)
    fails(job("prod-ap", at=now, configuration={}), before, state="closed", closed_at=before)
    document = answered(viewer)
    assert sorted(row["jobs"] for row in tables_of(document)["stores"]["rows"]) == [1, 1, 1, 1]


def test_a_bucket_of_another_endpoint_or_of_one_that_nobody_knows_is_another(viewer, now):
    minio = {"s3.endpoint": "http://minio-a:9000"}
    fails(job("prod-eu", at=now, configuration=minio), now)
    fails(job("prod-us", at=now, configuration=minio | {"s3.endpoint": "http://minio-b:9000"}), now)
    fails(job("prod-ap", at=now, configuration=None), now)
    fails(job("prod-ap", at=now, configuration={"fs.s3a.endpoint": "s3.amazonaws.com"}), now)
    assert sorted(store for store, _ in resources(answered(viewer))) == [
        "s3://lake",
        "s3://lake (minio-a:9000)",
        "s3://lake (minio-b:9000)",
        "s3://lake (prod-ap)",
    ]


@pytest.mark.parametrize(
    ("endpoint", "store"),
    [
        ("http://key:secret@minio-a:9000", "s3://lake (minio-a:9000)"),
        ("key:secret@minio-a:9000", "s3://lake (minio-a:9000)"),
        ("http://key:se/cret@minio-a:9000/", "s3://lake (minio-a:9000)"),
        ("http://[minio", "s3://lake ([minio)"),
        ("http://[min]io", "s3://lake ([min]io)"),
    ],
)
def test_of_an_endpoint_the_host_alone_is_shown_and_none_breaks_the_page(
    viewer, now, endpoint, store
):
    fails(job("prod-eu", at=now, configuration={"s3.endpoint": endpoint}), now)
    document = answered(viewer)
    assert [name for name, _ in resources(document)] == [store]
    assert "secret" not in str(document)


def test_as_many_queries_are_asked_for_many_clusters_as_for_few(viewer, now):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            document = answered(viewer)
        return len(queries), len(tables_of(document)["jobs"]["rows"])

    fails(job("prod-eu", at=now, configuration={}), now)
    few, _ = asked()
    for name in ("prod-us", "prod-ap"):
        fails(job(name, at=now, configuration={}), now)
    assert asked() == (few, 3)


def test_nothing_open_is_well_only_where_a_job_is_judged(viewer, now):
    assert answered(viewer)["verdict"]["tone"] == "unknown"
    job("prod-eu", at=now, judged_at=now)
    assert answered(viewer)["verdict"]["tone"] == "ok"


def test_who_sees_one_cluster_sees_its_part(now):
    fails(job("prod-eu", at=now, configuration={}), now)
    fails(job("prod-us", at=now, configuration={}), now)
    ann = person("ann")
    call_command("scope_user", "ann", 'cluster="prod-eu"', stdout=StringIO())
    client = Client()
    client.force_login(ann)
    assert resources(answered(client)) == {("s3://lake", WORDS): (1, 1)}


def store_alert(start, name, of_cluster, store="s3://lake", fault=THROTTLED, configuration=None):
    row = opened(
        start,
        name,
        "store.faults",
        cluster=of_cluster,
        subject_kind="store",
        subject_id=f"{store} {fault}",
        title=f"{store} throttles requests (503 or 429)",
        data=data_of(store, fault),
    )
    job(of_cluster, at=row.first_seen, job_id=row.job_id, configuration=configuration or {})
    return row


def test_jobs_of_one_cluster_are_one_incident_by_bucket(db):
    somebody_listens()
    for number in range(4):
        store_alert(number, f"job-{number}", "prod-eu")
    store_alert(5, "other", "prod-eu", "s3://pond")
    looks(0, 60)
    assert sorted(Incident.objects.values_list("job_count", flat=True)) == [1, 4]


def test_jobs_of_several_clusters_are_one_notice_of_the_bucket(db):
    somebody_listens()
    for number in range(6):
        store_alert(number, f"job-{number}", ("prod-eu", "prod-us")[number % 2])
    store_alert(6, "alone", "prod-us", "s3://pond")
    looks(0, 300)
    notices = {notice.group: len(notice.alerts) for notice in told()}
    assert notices == {"/store s3://lake STORE_THROTTLED": 6, "prod-us/store": 1}
    assert Incident.objects.count() == 3


def test_who_sees_one_cluster_is_not_told_that_others_share_the_notice(db):
    somebody_listens()
    for name in ("prod-eu", "prod-us"):
        cluster(name, at=timezone.now())
        store_alert(0, name, name)
    looks(0, 300)
    told_as = {}
    for who, matchers in (("ann", 'cluster="prod-eu"'), ("bob", "")):
        person(who)
        if matchers:
            call_command("scope_user", who, matchers, stdout=StringIO())
        client = Client()
        client.force_login(User.objects.get(username=who))
        rows = client.get(reverse("api-alerts-list")).json()["results"]
        told_as[who] = {row["group"] for row in rows}
    assert told_as == {"ann": {"prod-eu/store"}, "bob": {"/store s3://lake STORE_THROTTLED"}}


def test_the_same_name_at_other_endpoints_is_a_notice_for_each_cluster(db):
    somebody_listens()
    for name in ("prod-eu", "prod-us"):
        store_alert(0, name, name, configuration={"s3.endpoint": f"http://{name}:9000"})
    looks(0, 300)
    assert sorted(notice.group for notice in told()) == ["prod-eu/store", "prod-us/store"]


def test_what_people_were_notified_of_stays_where_it_was(db):
    somebody_listens()
    store_alert(0, "first", "prod-eu")
    looks(0, 120)
    store_alert(125, "second", "prod-us")
    store_alert(126, "third", "prod-us")
    look(130)
    looks(140, 400)
    assert [notice.group for notice in told()][:2] == [
        "prod-eu/store",
        "/store s3://lake STORE_THROTTLED",
    ]
