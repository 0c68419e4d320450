"""A NameNode's JMX from its declared address to findings and to the analysis of the fleet; served
in its published form.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from ingest.lake.store import Lake
from ingest.namenode_jmx.collector import base_of
from ingest.shard_collector import collect_shard
from tests.ingest.flink_rest.serving import told
from tests.ingest.test_shard_collector import rows, serving
from tests.namenode_beans import answer
from tests.webapp.analyses.answers import tables_of
from tests.webapp.builders import T0, job
from tests.webapp.storage.builders import audit, job_storage, root_figures
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster
from webapp.storage.namenode_findings import KEY, is_wanted
from webapp.storage.namenodes import namenodes_in
from webapp.work.models import DueWork
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db
FIRST = {"create": 1_000, "addBlock": 900, "complete": 1_000, "getListing": 5}
RULE = "namenode.queue_time"
LATER = {"create": 1_600, "addBlock": 1_500, "complete": 1_600, "getListing": 5}
START = T0 - timedelta(minutes=5)


def asked(lake, calls, at, cursor=None, url="/jmx/", **more):
    """What a collect cycle takes of it; the rest of the cluster is not there."""
    with serving(lambda path, headers: told(answer(path, calls, **more))) as [server]:
        cluster = Cluster(
            name="nn",
            namenode_jmx_url=server.url + url,
            log_globs=["/nowhere/*.log"],
            metrics_interval_s=30,
        )
        cluster.full_clean(exclude=["id"], validate_unique=False)
        [outcome] = collect_shard([cluster.source()], {"nn": cursor or {}}, lake, at=lambda: at)
        return outcome, server.asked


@pytest.fixture
def lake(home):
    return Lake(str(home / "lake"))


@pytest.fixture
def nn(lake):
    Cluster.objects.create(name="nn", namenode_jmx_url="http://nn1:9870")
    asked(lake, FIRST, START)
    asked(lake, LATER, START + timedelta(seconds=60), queue_ms=250.0)


def test_calls_a_second_are_the_difference_of_two_samples(nn):
    (found,) = namenodes_in(START - timedelta(minutes=1), 600).known
    assert found.kinds == {"addBlock": 10.0, "complete": 10.0, "create": 10.0}
    assert found.per_s == 30.0
    assert (found.queue_ms, found.most_queue_ms, found.is_slow) == (250.0, 250.0, True)
    assert found.ha_state == "active"


def test_a_restarted_namenode_has_no_rate(lake, nn):
    asked(lake, {"create": 3}, START + timedelta(seconds=120))
    (found,) = namenodes_in(START - timedelta(minutes=1), 600).known
    assert (found.per_s, found.kinds) == (None, {})


def test_it_is_asked_once_an_interval_without_a_secret_and_only_for_its_beans(lake):
    outcome, paths = asked(lake, FIRST, START)
    assert [path.partition("?")[0] for path in paths] == ["/jmx"] * 4
    _, paths = asked(lake, FIRST, START + timedelta(seconds=10), outcome.cursor)
    assert paths == []
    _, paths = asked(lake, FIRST, START + timedelta(seconds=31), outcome.cursor, url="")
    assert len(paths) == 4
    assert {
        base_of(one)
        for one in (
            "http://nn:9870",
            "http://nn:9870/",
            "http://nn:9870/jmx",
            "http://nn:9870/jmx/",
        )
    } == {"http://nn:9870"}


def test_what_is_no_namenode_is_an_input_that_was_skipped(lake):
    with serving(lambda path, headers: told({"beans": []})) as [server]:
        cluster = Cluster(name="nn", namenode_jmx_url=server.url, log_globs=["/nowhere/*.log"])
        [outcome] = collect_shard([cluster.source()], {}, lake, at=lambda: START)
    assert outcome.skips == 1
    assert [row["reason"] for row in rows(lake, "skips") if row["source"] == "namenode_jmx"] == [
        "bad_payload"
    ]


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/jmx", "http://[fe80::1]:9870", "file:///etc/passwd", "gopher://nn"],
)
def test_addresses_that_nobody_may_ask_are_refused(url):
    with pytest.raises(ValidationError):
        Cluster(name="nn", namenode_jmx_url=url, log_globs=["/nowhere/*.log"]).full_clean(
            exclude=["id"]
        )


def answered(viewer):
    return viewer.get(reverse("api-analysis-filesystem-calls")).json()


def test_the_analysis_of_the_fleet_shows_how_loaded_it_is(viewer, nn, monkeypatch):
    now = START + timedelta(minutes=2)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    document = answered(viewer)
    tables = tables_of(document)
    (one,) = tables["namenodes"]["rows"]
    assert (one["queue_ms"], one["most_queue_ms"], one["per_s"], one["ha_state"]) == (
        250.0,
        250.0,
        30.0,
        "active",
    )
    assert "If calls wait, every writer waits" in tables["namenodes"]["note"]
    assert (
        "Checkpoints of the jobs known here should cost 0.0 calls/s" in tables["namenodes"]["note"]
    )
    assert document["verdict"] == {
        "tone": "warn",
        "sentence": "Calls waited 250.0 ms at most in the queue of the NameNode of nn.",
    }


HDFS = "hdfs://nameservice/flink"


def files_on_hdfs(now):
    """A root of 300 files of 131 MiB and more in all, 200 of them small, in one job's directory."""
    of = audit(as_of=now, roots=[HDFS])
    root_figures(of, HDFS, files=300, bytes=256 << 20)
    orders = job("nn", at=now, name="orders", last_completed_path=f"{HDFS}/{'a' * 32}/chk-1")
    job_storage(of, orders.job_id, HDFS, cluster="nn", files=299, small_files=200, bytes=1)
    return of


def test_its_heap_is_estimated_from_files_and_blocks_beside_what_its_jmx_says(
    viewer, nn, monkeypatch
):
    now = START + timedelta(minutes=2)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    files_on_hdfs(now)
    tables = tables_of(answered(viewer))
    (one,) = tables["namenodes"]["rows"]
    assert (one["heap_used_bytes"], one["heap_max_bytes"]) == (537_395_200, 1 << 30)
    (root,) = tables["memory"]["rows"]
    assert (root["files"], root["blocks"], root["heap_bytes"]) == (300, 302, 602 * 150)
    assert root["share"] == pytest.approx(602 / (1204 + 990))
    assert root["inlined_bytes"] == 200 * 300


def test_which_namenode_has_a_root_is_unknown_where_its_cluster_writes_to_two(
    viewer, nn, monkeypatch
):
    now = START + timedelta(minutes=2)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    files_on_hdfs(now)
    job("nn", at=now, last_completed_path="hdfs://other/flink/x/chk-1")
    (root,) = tables_of(answered(viewer))["memory"]["rows"]
    assert (root["share"], root["heap_bytes"]) == (None, 90_300)


def test_without_a_root_on_hdfs_no_heap_is_estimated(viewer, nn, monkeypatch):
    now = START + timedelta(minutes=2)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    root_figures(audit(as_of=now))
    assert "memory" not in tables_of(answered(viewer))


def test_where_none_is_declared_or_none_answered_it_is_unknown(viewer):
    reasons = [block.get("reason", "") for block in answered(viewer)["blocks"]]
    assert any(
        one.startswith("No NameNode is declared, so its load is unknown.") for one in reasons
    )
    Cluster.objects.create(name="nn", namenode_jmx_url="http://nn1:9870")
    assert namenodes_in(datetime(2026, 3, 1, tzinfo=UTC), 600).silent == ["nn"]


def test_a_namenode_that_lets_calls_wait_is_a_finding_until_readings_are_well(
    lake, viewer, monkeypatch
):
    now = T0
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    Cluster.objects.create(name="nn", namenode_jmx_url="http://nn1:9870")
    DueWork.objects.ensure({KEY: 60}, now)

    def looked(queue_ms, *, readings=3):
        nonlocal now
        for _ in range(readings):
            asked(lake, FIRST, now, queue_ms=queue_ms)
            now += timedelta(seconds=60)
        perform(KEY, even_if_not_due=True)
        return [
            (one.severity, one.cluster, one.subject_kind)
            for one in Finding.objects.open().filter(rule=RULE)
        ]

    assert looked(0.4) == []
    assert looked(250.0, readings=4) == [("warning", "nn", "cluster")]
    assert answered(viewer)["verdict"]["tone"] == "warn"
    page = viewer.get(
        reverse("fleet-filesystem-calls"), headers={"HX-Request": "true"}
    ).content.decode()
    assert reverse("finding", args=[Finding.objects.get(rule=RULE).pk]) in page
    now += timedelta(minutes=20)
    assert looked(0.0, readings=0) == [
        ("warning", "nn", "cluster")
    ]  # silent: nobody knows that it is over
    assert looked(0.4) == []


def test_a_finding_of_one_that_is_declared_no_more_is_closed(lake, monkeypatch):
    monkeypatch.setattr("django.utils.timezone.now", lambda: T0)
    Cluster.objects.create(name="nn", namenode_jmx_url="http://nn1:9870")
    for seconds in (180, 120, 60):
        asked(lake, FIRST, T0 - timedelta(seconds=seconds), queue_ms=2_000.0)
    DueWork.objects.ensure({KEY: 60}, T0)
    perform(KEY)
    assert Finding.objects.open().get(rule=RULE).severity == "critical"
    Cluster.objects.update(namenode_jmx_url="")
    perform(KEY, even_if_not_due=True)
    assert not Finding.objects.open().filter(rule=RULE)
    assert not is_wanted()
