"""A real Flink in high availability, found by its ZooKeeper: the JobManager that leads is killed,
and its successor is followed.
"""

import re
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from django.utils import timezone
from kazoo.client import KazooClient

from ingest.discovery.reading import read_sources
from ingest.discovery.sources import DiscoverySource
from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from tests.lab import high_availability
from webapp.fleet.models import Cluster, SourceReading
from webapp.launch.home import free_port
from webapp.pipeline import discovering
from webapp.work.models import DueWork
from webapp.work.perform import perform
from webapp.work.registry import intervals_s

pytestmark = [
    pytest.mark.integration,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        not high_availability.IS_INSTALLED,
        reason="needs ZooKeeper: apt-get install libzookeeper-java",
    ),
]
COMPLETED = re.compile(r"Completed checkpoint (\d+) for job ([0-9a-f]{32})")


class Watch:
    """Discovery and collection as the pipeline does them, one cluster, until something is seen."""

    def __init__(self, folder: Path, ensemble: str, logs: str) -> None:
        self.lake, self.cursor, self.addresses, self.unanswered = (
            Lake(str(folder / "lake")),
            {},
            [],
            [],
        )
        source = (
            f"sources: [{{name: ha, refresh_s: 5, zookeeper: {{hosts: ['{ensemble}']}}, logs: "
            f"{{globs: ['{logs}']}}}}]"
        )
        (folder / "sources.yml").write_text(source)

    def look(self) -> None:
        DueWork.objects.ensure(intervals_s(), timezone.now())
        SourceReading.objects.update(due_at=timezone.now())
        perform(discovering.KEY, even_if_not_due=True)
        for cluster in Cluster.objects.collected():
            (outcome,) = collect_shard(
                [cluster.source()],
                {cluster.name: self.cursor},
                self.lake,
                at=lambda: datetime.now(UTC),
            )
            self.cursor = outcome.cursor
            self.addresses += [cluster.url] if self.addresses[-1:] != [cluster.url] else []
            if not outcome.reachable:
                self.unanswered.append(time.monotonic())

    def until(self, condition, within_s: float = 90) -> float:
        began = time.monotonic()
        while not condition():
            assert time.monotonic() - began < within_s, (
                self.addresses,
                list(SourceReading.objects.values()),
            )
            time.sleep(1)
            self.look()
        return time.monotonic() - began

    def rows(self, table: str, *columns: str):
        path = Path(self.lake.root) / table
        return (
            DeltaTable(str(path)).to_pyarrow_table(columns=list(columns)).to_pylist()
            if path.exists()
            else []
        )

    def completed(self) -> set[int]:
        rows = self.rows("checkpoints", "checkpoint_id", "status")
        return {row["checkpoint_id"] for row in rows if row["status"] == "COMPLETED"}

    def logged(self) -> set[int]:
        return {
            int(found[1])
            for row in self.rows("log_records", "message")
            if (found := COMPLETED.search(row["message"] or ""))
        }


@pytest.fixture
def folder(tmp_path, settings):
    object.__setattr__(settings.WEIR, "sources", str(tmp_path / "sources.yml"))
    yield tmp_path
    object.__setattr__(settings.WEIR, "sources", "")


@pytest.mark.long
def test_a_jobmanager_that_is_killed_is_followed_to_its_successor(folder):
    with high_availability.start(folder / "lab", taskmanagers=1) as (lab, ensemble):
        watch = Watch(folder, ensemble, f"{folder}/lab/flink/log/flink-*.log*")
        watch.until(lambda: len(watch.completed()) >= 4)
        cluster = Cluster.objects.get()
        assert cluster.name == "orders" and cluster.url in lab.urls.values()
        successor = lab.kill_leader(cluster.url)
        last = max(watch.completed() | watch.logged())
        took = watch.until(lambda: watch.addresses[-1] == successor)
        watch.until(lambda: max(watch.completed()) >= last + 4)
        print(f"followed {took:.1f} s after the kill")
        assert took < 45
        assert list(Cluster.objects.values_list("name", "url")) == [("orders", successor)]
        assert {row["job_id"] for row in watch.rows("jobs", "job_id")} == {lab.job_id}, (
            "the job has its id still, and is one"
        )
        told = watch.completed() | watch.logged()
        assert told == set(range(1, max(told) + 1)) - lost(lab), (
            "REST and logs together lack none that completed"
        )
        for log in lab.layout.logs.glob("flink-lab-standalonesession-*.log"):
            shutil.copy(log, folder)


def lost(lab) -> set[int]:
    """Ids that no JobManager says it completed: they were under way when the leader was killed."""
    said = {
        int(found)
        for log in lab.layout.logs.glob("*.log")
        for found, _job in COMPLETED.findall(log.read_text())
    }
    return set(range(1, max(said) + 1)) - said


@pytest.mark.long
def test_who_leads_is_read_and_a_cluster_that_nobody_leads_stays_as_it_was(tmp_path):
    port = free_port()
    ensemble = f"127.0.0.1:{port}"
    with high_availability.zookeeper(tmp_path / "zookeeper", port):
        source = DiscoverySource("ha", zookeeper=(ensemble,))
        (none,) = read_sources([source])
        assert "no /flink in it" in none.error
        client = KazooClient(ensemble)
        client.start()
        for cluster_id, content in (
            ("default", LEADER),
            ("team/orders", LEADER),
            ("unled", b""),
            ("alien", b"http://x:1"),
        ):
            client.create(
                f"/flink/{cluster_id}/leader/rest_server/connection_info", content, makepath=True
            )
        client.create("/flink/old/leader/rest_server_lock", LEADER, makepath=True)
        (found,) = read_sources([source])
        assert [(one.name, one.url) for one in found.clusters] == [
            (name, "http://127.0.0.1:28151") for name in ("default", "old", "team-orders")
        ]
        assert {(one.name, one.why[:6]) for one in found.refused} == {
            ("unled", "it has"),
            ("alien", "what i"),
        }
        for number in range(5_001):
            client.create_async(f"/flink/many-{number}")
        client.get("/flink")
        (many,) = read_sources([source])
        assert "more than 5,000 nodes" in many.error
        client.stop()
        client.close()
    (gone,) = read_sources([source])
    assert "did not answer in time" in gone.error and not gone.clusters


LEADER = (
    b"\xac\xed\x00\x05w\x18\x00\x16http://127.0.0.1:28151sr\x00\x0ejava.util.UUID\xbc\x99\x03\xf7\x98m\x85/\x02\x00\x02J\x00\x0cleast"
    b"SigBitsJ\x00\x0bmostSigBitsxp\xa0\xc3\x1c\x9f\xd2\xc9\xfdP\xbaf\xee0\x9f\xe6I\xda"
)
