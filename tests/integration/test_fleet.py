"""A fleet as fleets are: real clusters that come and go, found by HTTP discovery, scraped by
Prometheus, with logs as JSON inside CRI.

Each is read three ways at once: as the fleet is, by REST and plain logs, and by Prometheus and the
containers' logs alone.
"""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from ingest.discovery.reading import read_sources
from ingest.discovery.sources import DiscoverySource
from ingest.lake.store import Lake
from ingest.shard_collector import CollectorCursor, collect_shard
from ingest.sources import ClusterSource, LogSource, PrometheusSource
from tests.ingest.test_shard_collector import rows
from tests.integration.running import until
from tests.lab import high_availability, inventory, prometheus
from tests.lab.cluster import Lab, started
from tests.lab.rest import call_or_none
from tests.ways import Judged, of_lake
from webapp.fleet.choices import Visibility
from webapp.fleet.models import Cluster
from webapp.pipeline import discovering
from webapp.work.models import DueWork
from webapp.work.perform import perform
from webapp.work.registry import intervals_s

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        not high_availability.IS_INSTALLED,
        reason="needs ZooKeeper: apt-get install libzookeeper-java",
    ),
    pytest.mark.skipif(
        prometheus.EXECUTABLE is None, reason="needs Prometheus: apt-get install prometheus"
    ),
]
WAYS = ("plain", "fleet", "alone")
STEP_S = 10
LISTED_WITHIN_S = 30
PLAYED = {
    "orders": "checkpoint.declined",
    "carts": "restart.loop",
    "ledger": "restore.missing_file",
}
"""Cluster → the rule that its incident is for."""
BY_SAMPLES = ("pressure", "data", "watermark", "memory")
"""Families of rules whose figures are sampled at other instants each way: on a busy machine these
lie now above a threshold, now below.
"""


@dataclass
class Watch:
    """The product's own discovery, and three collectors of whatever it lists."""

    folder: Path
    scraper: prometheus.Server
    lakes: dict[str, Lake] = field(init=False)
    cursors: dict[tuple[str, str], CollectorCursor] = field(default_factory=dict)
    labs: dict[str, Lab] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lakes = {way: Lake(str(self.folder / way / "lake")) for way in WAYS}

    def look(self) -> None:
        """What beat does every few seconds. Sources are read as often as they say, no oftener."""
        DueWork.objects.ensure(intervals_s(), timezone.now())
        perform(discovering.KEY, even_if_not_due=True)
        Cluster.objects.update(metrics_interval_s=STEP_S)
        for cluster in Cluster.objects.collected():
            self._collect(cluster.source(), self.labs[cluster.name])

    def _collect(self, source: ClusterSource, lab: Lab) -> None:
        assert source.prometheus and source.logs.globs
        scraped = PrometheusSource(self.scraper.url, source.prometheus.selector)
        of_way = {
            "fleet": source,
            "plain": ClusterSource(
                source.name, lab.url, logs=LogSource((lab.log_glob,)), metrics_interval_s=STEP_S
            ),
            "alone": ClusterSource(
                source.name, "", prometheus=scraped, logs=source.logs, metrics_interval_s=STEP_S
            ),
        }
        for way, read in of_way.items():
            known = {source.name: self.cursors.get((way, source.name), {})}
            (outcome,) = collect_shard([read], known, self.lakes[way])
            self.cursors[way, source.name] = outcome.cursor

    def until(self, happened, within_s: float, what: str) -> float:
        began = time.monotonic()
        until(lambda: self.look() or happened(), within_s, what, every_s=4)
        return time.monotonic() - began

    def completed(self, job_id: str) -> set[int]:
        """By its JobManager."""
        told = rows(self.lakes["fleet"], "checkpoints")
        return {
            row["checkpoint_id"]
            for row in told
            if row["status"] == "COMPLETED" and row["job_id"] == job_id
        }

    def judged(self, way: str) -> Judged:
        return of_lake(self.lakes[way], self.folder / way)


@dataclass
class Story:
    took_s: dict[str, float] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    """Visibility by cluster at the end."""
    pages: dict[str, str] = field(default_factory=dict)
    found: dict[str, Judged] = field(default_factory=dict)
    successor: str = ""
    """Of the JobManager of ``orders`` that led and was killed after all was judged."""
    urls: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, set[str]] = field(default_factory=dict)


def collected() -> set[str]:
    return set(Cluster.objects.collected().values_list("name", flat=True))


def restarts(lab: Lab) -> int:
    (told,) = call_or_none(f"{lab.url}/jobs/{lab.job_id}/metrics?get=numRestarts") or [
        {"value": "0"}
    ]
    return int(told["value"])


def alone_standing(version: str, incident: str, slot: int, folder: Path) -> Lab:
    return started(Lab(version, incident, slot, folder / "flink", as_fleet=True))


@pytest.fixture
def story(tmp_path: Path, settings, admin_client) -> Iterator[Story]:
    told = Story()
    with ExitStack() as stack:
        listed = stack.enter_context(inventory.served())
        every = {"http_sd_configs": [{"url": f"{listed.url}/reporters", "refresh_interval": "5s"}]}
        scraper = stack.enter_context(
            prometheus.Server(tmp_path / "prometheus", [{"job_name": "flink", **every}])
        )
        (tmp_path / "sources.yml").write_text(
            f"sources: [{{name: inventory, http_sd: {{url: '{listed.url}/clusters'}}, "
            f"logs: {{globs: ['{tmp_path}/{{cluster}}/flink/pods/*/*/*.log']}}, "
            f"prometheus: {{url: '{scraper.url}', selector: 'cluster=\"{{cluster}}\"'}}}}]"
        )
        object.__setattr__(settings.WEIR, "sources", str(tmp_path / "sources.yml"))
        stack.callback(object.__setattr__, settings.WEIR, "sources", "")
        watch = Watch(tmp_path, scraper)
        starting = stack.enter_context(ThreadPoolExecutor(3))
        orders = starting.submit(
            lambda: stack.enter_context(
                high_availability.start(
                    tmp_path / "orders", "1.20.5", "declined", 34, as_fleet=True
                )
            )
        )
        carts: Future[Lab] = starting.submit(
            lambda: stack.enter_context(alone_standing("2.3.0", "crashing", 35, tmp_path / "carts"))
        )
        listed.clusters |= {"orders": orders.result()[0], "carts": carts.result()}
        watch.labs |= listed.clusters
        told.took_s["orders and carts come"] = watch.until(
            lambda: collected() == {"orders", "carts"}, 60, "the first clusters' being listed"
        )
        ledger: Future[Lab] = starting.submit(
            lambda: stack.enter_context(
                alone_standing("2.3.0", "lost-checkpoint", 36, tmp_path / "ledger")
            )
        )
        watch.until(ledger.done, 150, "the third cluster's being up")
        watch.labs["ledger"] = listed.clusters["ledger"] = ledger.result()
        told.took_s["ledger comes"] = watch.until(
            lambda: "ledger" in collected(), 60, "the third cluster's being listed"
        )
        losing = starting.submit(ledger.result().play_out)
        watch.until(
            lambda: losing.done() and restarts(carts.result()) >= 4, 180, "what the incidents do"
        )
        for _ in range(2 * STEP_S // 5):
            watch.look()
            time.sleep(5)
        del listed.clusters["carts"]
        carts.result().stop()
        told.took_s["carts leaves"] = watch.until(
            lambda: "carts" not in collected(), 60, "a cluster's leaving"
        )
        told.labels = dict(Cluster.objects.values_list("name", "labels"))
        told.after = {row.name: str(row.visibility) for row in Cluster.objects.all()}
        told.pages["clusters"] = admin_client.get(reverse("clusters")).content.decode()
        told.jobs = {
            name: {job["id"] for job in lab.get("/jobs")["jobs"]}
            for name, lab in listed.clusters.items()
        }
        told.jobs["carts"] = {carts.result().job_id}
        told.found = {way: watch.judged(way) for way in WAYS}
        _kill_leader(orders.result()[0], orders.result()[1], listed, watch, told)
        yield told


def _kill_leader(
    lab: high_availability.HighlyAvailableLab,
    ensemble: str,
    listed: inventory.Inventory,
    watch: Watch,
    told: Story,
) -> None:
    """Its owners list the successor; the job goes on under its id."""
    (led,) = read_sources([DiscoverySource("who-leads", zookeeper=(ensemble,))])
    told.successor = listed.moved["orders"] = lab.kill_leader(led.clusters[0].url)
    before = max(watch.completed(lab.job_id))
    watch.until(
        lambda: max(watch.completed(lab.job_id)) >= before + 2,
        90,
        "checkpoints under the successor",
    )
    told.urls = dict(Cluster.objects.values_list("name", "url"))
    told.jobs["orders"] |= {
        row["job_id"] for row in rows(watch.lakes["fleet"], "jobs") if row["cluster"] == "orders"
    }


def of_incidents(found: Judged) -> set[tuple[str, str, str, str]]:
    return {one for one in found.told if not one[1].startswith(BY_SAMPLES)}


def test_a_fleet_that_comes_and_goes_is_found_followed_and_judged_as_by_hand(story: Story) -> None:
    print(
        story.took_s,
        {way: sorted(one[1:] for one in found.told) for way, found in story.found.items()},
    )
    assert all(took <= LISTED_WITHIN_S for took in story.took_s.values()), story.took_s
    assert {name for name, state in story.after.items() if state == Visibility.LEFT} == {"carts"}
    assert set(story.after) == set(PLAYED)
    assert story.labels["ledger"] == {"team": "lab"}
    assert "left its source" in story.pages["clusters"]
    assert story.urls["orders"] == story.successor and len(story.jobs["orders"]) == 1
    plain, fleet, alone = (story.found[way] for way in WAYS)
    for name, rule in PLAYED.items():
        for found in (plain, fleet, alone):
            assert {one[1] for one in found.told if one[0] in story.jobs[name]} >= {rule}, name
    assert of_incidents(fleet) == of_incidents(plain)
    assert of_incidents(alone) <= of_incidents(plain)
    assert {one[:2] for one in of_incidents(plain) - of_incidents(alone)} <= alone.unknown
