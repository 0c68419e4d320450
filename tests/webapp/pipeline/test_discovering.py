"""Clusters that come and leave as a source lists them."""

import json
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, finding, job
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.findings import unreachable_clusters
from webapp.findings.models import Finding
from webapp.fleet.choices import Visibility
from webapp.fleet.models import Cluster, JobCurrent, RemovedCluster, SourceReading
from webapp.fleet.pipeline_status import alarms
from webapp.fleet.sign_ins import JOBMANAGER
from webapp.lib.labels import matched_labels
from webapp.pipeline import discovering
from webapp.pipeline.due_work import DISCOVERY_TASK
from webapp.work.models import DueWork
from webapp.work.perform import Performed, perform
from webapp.work.registry import intervals_s, work_of

pytestmark = pytest.mark.django_db


class Place:
    """A folder of target files with a file of sources that names it."""

    def __init__(self, folder):
        self.folder = folder
        self.declare(more="")

    def declare(self, more):
        (self.folder / "sources.yml").write_text(
            f"sources:\n  - name: prod\n    file_sd: {{files: ['{self.folder}/*.json']}}\n{more}"
        )

    def lists(self, *names, file="a", **labels):
        groups = [
            {"targets": [f"{name}.example:8081"], "labels": {"cluster": name, **labels}}
            for name in names
        ]
        (self.folder / f"{file}.json").write_text(json.dumps(groups))

    def read(self):
        """All sources, whenever they would be due."""
        DueWork.objects.ensure(intervals_s(), timezone.now())
        SourceReading.objects.update(due_at=timezone.now())
        assert perform(discovering.KEY, even_if_not_due=True).state != Performed.HELD


@pytest.fixture
def place(tmp_path, monkeypatch, settings, db):
    cache.clear()
    object.__setattr__(settings.WEIR, "sources", str(tmp_path / "sources.yml"))
    yield Place(tmp_path)
    object.__setattr__(settings.WEIR, "sources", "")


def visible():
    return {row.name: str(row.visibility) for row in Cluster.objects.all()}


def test_without_a_file_of_sources_nothing_is_due(db):
    assert discovering.KEY not in intervals_s()


def test_it_is_due_work_that_is_looked_at_every_few_seconds(place):
    assert intervals_s()[discovering.KEY] == 5 and work_of(discovering.KEY).task is DISCOVERY_TASK


def test_clusters_come_with_address_and_labels_and_are_collected(place):
    place.lists("orders", "carts", team="shop")
    place.read()
    rows = list(
        Cluster.objects.collected()
        .order_by("name")
        .values_list("name", "url", "labels", "found_by", "shard")
    )
    label = {"team": "shop"}
    assert rows == [
        ("carts", "http://carts.example:8081", label, "prod", 0),
        ("orders", "http://orders.example:8081", label, "prod", 0),
    ]
    assert SourceReading.objects.get(name="prod").clusters == 2


def test_a_cluster_that_leaves_is_not_asked_and_neither_healthy_nor_alerting(place, viewer):
    place.lists("orders", "carts")
    place.read()
    now = timezone.now()
    Cluster.objects.update(last_collected_at=now, last_success_at=now, cursor={"rest": {"seen": 1}})
    of_left, of_other = job("orders", at=now), job("carts", at=now)
    for one in (of_left, of_other):
        finding(one, at=now, to_alert=True)
    evaluate(now)
    assert Alert.objects.open().count() == 2
    place.lists("carts")
    place.read()
    evaluate(timezone.now())
    assert list(Cluster.objects.collected().values_list("name", flat=True)) == ["carts"]
    assert visible()["orders"] == Visibility.LEFT
    states = {
        row.cluster: (row.status, row.health)
        for row in JobCurrent.objects.with_status(timezone.now())
    }
    assert states == {"orders": ("UNWATCHED", None), "carts": ("RUNNING", 100)}
    (alert,) = Alert.objects.filter(cluster="orders")
    assert not alert.is_open and "is not listed by its source prod any more" in alert.ended_because
    assert (
        Finding.objects.open().filter(cluster="carts").exists()
        and not Finding.objects.open().filter(cluster="orders").exists()
    )
    page = viewer.get(reverse("clusters")).content.decode()
    assert "left its source" in page and "its state is unknown" in page
    assert (
        "is not listed by its source prod any more"
        in viewer.get(reverse("job", args=("orders", of_left.job_id))).content.decode()
    )
    unreachable_clusters.watch(now + timedelta(hours=1))
    assert not Finding.objects.open().filter(cluster="orders").exists(), (
        "nobody asks it, so it is not silent either"
    )


def test_one_that_comes_back_goes_on_where_it_was(place):
    place.lists("orders")
    place.read()
    Cluster.objects.update(cursor={"rest": {"seen": 1}})
    place.lists()
    place.read()
    assert RemovedCluster.objects.filter(name="orders").exists()
    place.lists("orders")
    place.read()
    (row,) = Cluster.objects.collected()
    assert row.cursor == {"rest": {"seen": 1}} and not RemovedCluster.objects.exists()


def test_an_address_that_moves_is_followed_and_a_secret_does_not_go_with_it(place):
    place.lists("orders")
    place.read()
    row = Cluster.objects.get()
    row.auth_scheme = "bearer"
    JOBMANAGER.store(row, "canary")
    row.save()
    place.read()
    assert Cluster.objects.get().auth_secret_encrypted
    (place.folder / "a.json").write_text(
        '[{"targets": ["other.example:8081"], "labels": {"cluster": "orders"}}]'
    )
    place.read()
    assert (Cluster.objects.get().url, Cluster.objects.get().auth_secret_encrypted) == (
        "http://other.example:8081",
        "",
    )


@pytest.mark.parametrize("broken", ["[{", "{}", None])
def test_a_source_that_cannot_be_read_changes_nothing_and_says_so(
    place, operator, broken, settings
):
    place.lists("orders", file="a")
    place.lists("carts", file="b")
    place.read()
    if broken is None:
        for name in "ab":
            (place.folder / f"{name}.json").unlink()
    else:
        (place.folder / "b.json").write_text(broken)
    place.read()
    assert Cluster.objects.collected().count() == 2
    said = SourceReading.objects.get(name="prod")
    assert str(place.folder) in said.last_error and said.clusters == 2
    page = operator.get(reverse("pipeline")).content.decode()
    assert (
        "cannot be read" in page
        and str(place.folder) in page
        and "Clusters stay as they were" in page
    )
    SourceReading.objects.update(last_success_at=timezone.now() - timedelta(minutes=2))
    DueWork.objects.update(next_attempt_at=timezone.now())
    assert ("source.unreadable", "prod") in {
        (one.code, one.subject) for one in alarms.problems(timezone.now())
    }
    place.lists("orders", file="a")
    place.lists("fresh", file="b")
    place.read()
    assert visible() == {"orders": "new", "carts": "left", "fresh": "new"}


def test_a_file_of_sources_that_breaks_changes_nothing(place):
    place.lists("orders")
    place.read()
    (place.folder / "sources.yml").write_text("sources: [")
    place.read()
    assert Cluster.objects.collected().count() == 1
    assert (
        "Until that is mended clusters stay"
        in SourceReading.objects.get(name="WEIR_SOURCES").last_error
    )


def test_clusters_of_a_source_that_is_declared_no_more_leave(place):
    place.lists("orders")
    place.read()
    (place.folder / "sources.yml").write_text("sources: []")
    place.read()
    assert (
        visible() == {"orders": "left"} and not SourceReading.objects.filter(name="prod").exists()
    )


def test_a_cluster_of_somebody_is_not_taken_over_and_a_pause_stays(place, operator):
    cluster("orders", at=timezone.now(), url="http://127.0.0.1:1")
    place.lists("orders", "carts")
    place.read()
    assert Cluster.objects.get(name="orders").url == "http://127.0.0.1:1"
    assert (
        "registered already, by somebody"
        in SourceReading.objects.get(name="prod").refused[0]["why"]
    )
    operator.post(reverse("cluster-pause", args=("carts",)), {"pause": "1"})
    place.read()
    assert visible()["carts"] == Visibility.PAUSED
    page = operator.post(
        reverse("cluster-remove", args=("carts",)), {"name": "carts"}, follow=True
    ).content.decode()
    assert "would come back" in page and Cluster.objects.filter(name="carts").exists()


def test_a_source_with_credentials_and_logs_gives_them_to_its_clusters(place):
    (place.folder / "token").write_text("canary-token")
    place.declare(
        f"    hosts: ['*.example']\n    authorization: {{credentials_file: {place.folder}/token}}\n"
        "    logs: {globs: ['/logs/{cluster}/*.log'], time_zone: Europe/Berlin}\n"
    )
    place.lists("orders")
    place.read()
    source = Cluster.objects.get().source()
    assert source.auth.secret == "canary-token" and source.logs.globs == ("/logs/orders/*.log",)
    before = Cluster.objects.get().auth_secret_encrypted
    place.read()
    assert Cluster.objects.get().auth_secret_encrypted == before and "canary" not in before


def test_a_source_with_a_prometheus_names_the_series_of_each_cluster(place):
    (place.folder / "token").write_text("canary-token")
    place.declare(
        "    prometheus:\n      url: https://prometheus.example\n      tenant: flink\n      "
        "tls_config: {ca_file: /ca.pem}\n"
        f"      authorization: {{credentials_file: {place.folder}/token}}\n"
        '      selector: \'cluster="{cluster}",team="{team}"\'\n'
    )
    place.lists("orders", team='a"} or vector(1) #')
    place.read()
    prometheus = Cluster.objects.get().source().prometheus
    assert prometheus.selector == 'cluster="orders",team="a\\"} or vector(1) #"'
    assert (prometheus.auth.secret, prometheus.ca_file, prometheus.tenant) == (
        "canary-token",
        "/ca.pem",
        "flink",
    )
    before = Cluster.objects.get().prometheus_secret_encrypted
    place.read()
    assert Cluster.objects.get().prometheus_secret_encrypted == before and "canary" not in before


def test_labels_narrow_lists_group_clusters_and_are_labels_of_alerts(place, operator):
    place.lists("orders", team="shop")
    place.lists("bills", "books", file="b", team="money")
    place.read()
    now = timezone.now()
    finding(job("orders", at=now, name="wanted"), at=now, to_alert=True)
    finding(job("bills", at=now, name="unwanted"), at=now, to_alert=True)
    evaluate(now)
    assert {row.cluster: matched_labels(row)["team"] for row in Alert.objects.all()} == {
        "orders": "shop",
        "bills": "money",
    }
    for page in ("fleet", "findings", "alerts"):
        narrowed = operator.get(
            reverse(page), {"label": 'team="shop"; cluster!=x'}
        ).content.decode()
        assert "wanted" in narrowed and "unwanted" not in narrowed, page
    listed = operator.get("/api/v1/jobs/", {"label": "team=~mon.*"}).json()["results"]
    assert [row["cluster"] for row in listed] == ["bills"]
    assert (
        operator.get("/api/v1/clusters/", {"label": "team=shop"}).json()["results"][0]["labels"][
            "team"
        ]
        == "shop"
    )


def test_thousands_are_put_into_shards_within_few_queries(place, django_assert_max_num_queries):
    place.lists(*(f"c{number:04}" for number in range(1_000)))
    with django_assert_max_num_queries(120):
        place.read()
    shards = list(Cluster.objects.values_list("shard", flat=True))
    assert {shard: shards.count(shard) for shard in set(shards)} == dict.fromkeys(range(5), 200)
    with django_assert_max_num_queries(60):
        place.read()


def test_the_command_says_what_would_be_and_does_it_where_asked(place, capsys):
    place.lists("orders")
    call_command("discover")
    assert "come     orders" in capsys.readouterr().out
    assert not Cluster.objects.exists() and not SourceReading.objects.exists()
    call_command("discover", apply=True)
    assert "come     orders" in capsys.readouterr().out and Cluster.objects.get().name == "orders"
    (place.folder / "a.json").write_text("[")
    with pytest.raises(CommandError) as failed:
        call_command("discover")
    assert failed.value.returncode == 1
    (place.folder / "sources.yml").write_text("x: 1")
    with pytest.raises(CommandError) as refused:
        call_command("discover")
    assert refused.value.returncode == 2


def test_a_clock_that_was_set_back_puts_no_source_off(place):
    place.lists("orders")
    place.read()
    ahead = timezone.now() + timedelta(hours=3)
    SourceReading.objects.update(due_at=ahead, last_read_at=ahead, last_success_at=ahead)
    place.lists("orders", "carts")
    perform(discovering.KEY, even_if_not_due=True)
    assert set(visible()) == {"orders", "carts"}
    SourceReading.objects.update(last_success_at=ahead, last_error="gone", due_at=ahead)
    perform(discovering.KEY, even_if_not_due=True)
    assert not SourceReading.objects.filter(last_success_at__gt=timezone.now()).exists()
