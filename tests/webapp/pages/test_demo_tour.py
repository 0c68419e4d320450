"""What the demo has to show besides its jobs: made once, by the doors that people use, and gone
with the demo.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from ingest.replay.player import Player
from ingest.replay.shipped import AUDITED, CHECKPOINTS, PAST_MS, REMOVED, ROOTS, SHIPPED, recordings
from ingest.replay.tape import Tape
from tests.webapp.builders import cluster, job, unsaved_job
from tests.webapp.storage.builders import audit, root, root_figures
from webapp.alerting.models import Silence
from webapp.cleanup.choices import PlanState
from webapp.cleanup.models import CleanupPlan
from webapp.findings.models import Finding
from webapp.fleet import demo
from webapp.fleet.models import Cluster, JobCurrent
from webapp.site import demo_storage, demo_tour, removal
from webapp.storage.auditing import work_keys
from webapp.storage.models import AuditDoubt, RootFigures, StorageAudit, StorageRoot
from webapp.work import registry
from webapp.work.models import DueWork
from webapp.work.perform import Performed, perform

pytestmark = pytest.mark.django_db
JOB_TIMES = (
    "start_time",
    "end_time",
    "restored_at",
    "last_completed_at",
    "first_seen_at",
    "last_seen_at",
)
ORPHANS = {"files": 14, "bytes": 17_566_752}
"""Of the recording whose TaskManagers were killed, as its listings and Flink's own loader of
``_metadata`` have it.
"""


@pytest.fixture
def registered(db, home):
    demo.folder().mkdir()
    (demo.folder() / "ports").write_text(
        " ".join(str(port) for port in range(18_000, 18_000 + len(SHIPPED)))
    )
    demo.register_clusters()
    Cluster.objects.update(last_collected_at=timezone.now(), last_success_at=timezone.now())


class Played:
    """The clusters with a past, as they are played."""

    def __init__(self) -> None:
        for one in SHIPPED:
            (demo.folder() / one.name / CHECKPOINTS).mkdir(parents=True)
        tapes = {
            one.name: (Tape(recordings() / one.recording), one.jobs)
            for one in demo_storage.WITH_PAST
        }
        self.now_ms = round(timezone.now().timestamp() * 1000)
        self.players = {
            name: Player(tape, jobs, demo.folder() / name, past_ms=PAST_MS)
            for name, (tape, jobs) in tapes.items()
        }

    def tick(self) -> None:
        """Checkpoints of now are written once the past is audited; jobs are read as the collector
        would.
        """
        for name, player in self.players.items():
            player.tick(self.now_ms, writes_checkpoints=(demo.folder() / AUDITED).exists())
            for listed in json.loads(player.answer("/jobs/overview", self.now_ms)[1])["jobs"]:
                latest = json.loads(
                    player.answer(f"/jobs/{listed['jid']}/checkpoints", self.now_ms)[1]
                ).get("latest", {})
                self.read(name, listed, latest.get("restored") or {}, latest.get("completed") or {})

    @staticmethod
    def read(name: str, listed: dict, restored: dict, completed: dict) -> None:
        row = unsaved_job(
            name,
            at=timezone.now(),
            name=listed["name"],
            state=listed["state"],
            terminal=listed["state"] == "CANCELED",
            start_time=instant(listed["start-time"]),
            end_time=instant(listed["end-time"]),
            flink_counts={"restored": int(bool(restored))},
            restored_path=restored.get("external_path"),
            restored_at=instant(restored.get("restore_timestamp")),
            restored_is_savepoint=restored.get("is_savepoint"),
            last_completed_at=instant(completed.get("latest_ack_timestamp")),
            last_completed_id=completed.get("id"),
            last_completed_path=completed.get("external_path"),
        )
        facts = {
            field: getattr(row, field)
            for field in ("name", "state", "terminal", "as_of", *JOB_TIMES)
        }
        facts |= {
            "restored_path": row.restored_path,
            "restored_is_savepoint": row.restored_is_savepoint,
        }
        facts |= {
            "last_completed_id": row.last_completed_id,
            "last_completed_path": row.last_completed_path,
        }
        JobCurrent.objects.update_or_create(cluster=name, job_id=listed["jid"], defaults=facts)


def instant(ms: int | None) -> datetime | None:
    return datetime.fromtimestamp(ms / 1000, UTC) if ms and ms > 0 else None


def root_of_ones_own(folder: Path) -> StorageRoot:
    """With the directory of a job that runs and has completed no checkpoint yet, and one of which
    nobody knows.
    """
    cluster("mine", at=timezone.now())
    runs = job("mine", at=timezone.now(), last_completed_at=None, flink_counts={"restored": 0})
    for job_id in (runs.job_id, "d" * 32):
        file = folder / job_id / "shared" / "state"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x")
    mine = root(f"file:{folder}", enabled=True)
    mine.clusters.add(Cluster.objects.get(name="mine"))
    return mine


def done(key: str) -> str:
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    return perform(key, even_if_not_due=True, echo=lambda line: None).state


@pytest.mark.django_db(transaction=True)
@pytest.mark.long
def test_two_audits_prove_what_the_past_left_and_a_plan_waits_for_approval(
    registered, monkeypatch, tmp_path
):
    """Jobs of the demo run meanwhile, one of them restored from what is written only after the
    first audit, and a root is somebody's.
    """
    mine = root_of_ones_own(tmp_path / "mine")
    played = Played()
    played.tick()
    assert (
        JobCurrent.objects.filter(cluster__startswith="demo-", terminal=False)
        .exclude(restored_path=None)
        .exists()
    )
    assert done(demo_tour.KEY) == Performed.DONE
    assert (demo.folder() / AUDITED).exists()
    played.tick()
    assert done(work_keys.AUDIT) == Performed.DONE
    first, second = StorageAudit.objects.order_by("as_of")
    assert second.previous == first
    assert mine.uri not in first.roots
    assert mine.uri in second.roots
    assert list(AuditDoubt.objects.values_list("audit", "reason", "subject", "detail")) == []
    told = pq.read_table(f"{first.run_dir}/jobs.parquet").to_pylist()
    assert {one["cluster"] for one in told if not one["terminal"]} == {"mine"}
    assert any(
        not one["terminal"]
        for one in pq.read_table(f"{second.run_dir}/jobs.parquet").to_pylist()
        if one["cluster"] != "mine"
    )
    assert second.as_of - first.as_of > timedelta(hours=72)
    figures = {row.root.rpartition("-")[2]: row for row in RootFigures.objects.filter(audit=second)}
    assert {"files": figures["I"].orphan_files, "bytes": figures["I"].orphan_bytes} == ORPHANS
    assert figures["H"].missing_files == 16
    assert {one.rule for one in Finding.objects.all()} >= {
        "storage.orphans",
    }

    assert done(demo_tour.KEY) == Performed.DONE
    plan = CleanupPlan.objects.get()
    assert done(f"storage/plan-{plan.pk}") == Performed.DONE
    plan.refresh_from_db()
    waste = sum(row.retained_waste_files for row in figures.values())
    # Merged files that either job left are kept, and with them every checkpoint that names them.
    assert figures["K"].retained_waste_files == 0
    assert (plan.state, plan.files, plan.approved_at) == (
        PlanState.PLANNED,
        ORPHANS["files"] + waste,
        None,
    )
    assert demo_tour.KEY not in registry.intervals_s()  # all its examples exist
    assert done(demo_tour.KEY) == Performed.IDLE

    removal.remove_demo(timezone.now())
    assert StorageRoot.objects.get() == mine
    assert {row.root for row in RootFigures.objects.all()} == {mine.uri}
    assert not CleanupPlan.objects.exists()
    assert not Finding.objects.open().exists()
    assert [one.name for one in demo.folder().iterdir() if one.name.startswith("demo-")] == []
    assert demo_tour.KEY not in registry.intervals_s()


def test_without_the_demo_nothing_of_it_is_due(registered, weir):
    assert demo_tour.KEY in registry.intervals_s()
    weir(demo=False)
    assert demo_tour.KEY not in registry.intervals_s()


def test_removing_the_demo_leaves_what_is_not_of_it(home, operator):
    theirs = root("s3://mine")
    mixed = audit("storage-2", roots=["s3://mine", *ROOTS])
    for uri in ("s3://mine", next(iter(ROOTS))):
        root_figures(mixed, uri)
    plan = {
        "created_at": timezone.now(),
        "expires_at": timezone.now(),
        "grace_s": 1,
    }
    CleanupPlan.objects.create(folder=str(home / "plans" / "mine"), roots=["s3://mine"], **plan)
    kept = Silence.objects.create(
        matchers=[],
        reason="ours",
        author_name="olga",
        created_at=timezone.now(),
        starts_at=timezone.now(),
        ends_at=timezone.now(),
    )
    operator.post("/demo/remove/")
    assert (demo.folder() / REMOVED).exists()
    assert StorageRoot.objects.get() == theirs
    assert [row.root for row in RootFigures.objects.all()] == ["s3://mine"]
    assert CleanupPlan.objects.get().roots == ["s3://mine"]
    assert Silence.objects.get() == kept
