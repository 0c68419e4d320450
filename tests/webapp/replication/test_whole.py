"""A copy of a job's checkpoints from the command that asks for it to its page, over real
processes.
"""

import json
import random
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from tests.spark_jobs.replication.worlds import JOB, World, copies, state_of, tree_digest
from tests.webapp import builders
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent
from webapp.replication.job_replication import job_replication
from webapp.replication.models import Replica
from webapp.storage.models import StorageRoot
from webapp.work.models import DueWork
from webapp.work.registry import FinishedAttempt, work_of

pytestmark = pytest.mark.django_db(transaction=True)
Run = Callable[..., str]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world", random.Random(2))


@pytest.fixture
def job(world: World) -> JobCurrent:
    now = timezone.now()
    builders.cluster("prod-eu", at=now)
    job = builders.job("prod-eu", at=now, job_id=JOB)
    while len(world.shared) < 6:
        world.checkpoint()
    checkpoint(world, job)
    StorageRoot.objects.create(uri=f"file:{world.root}")
    return job


def checkpoint(world: World, job: JobCurrent, age_s: int = 60) -> None:
    number = world.checkpoint()
    path = f"file:{world.root}/{JOB}/chk-{number}"
    builders.fact(
        job,
        number,
        timezone.now() - timedelta(seconds=age_s),
        external_path=path,
        is_savepoint=False,
    )


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("replicate", "prod-eu", JOB, *arguments, stdout=out)
    return out.getvalue()


def refused(*arguments: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    return refusal.value.returncode, str(refusal.value)


def test_a_copy_is_made_shown_and_brought_up_to_date(
    world: World, job: JobCurrent, client: Client
) -> None:
    before = tree_digest(world.root)
    first = json.loads(run(str(world.copy), "--json"))
    assert tree_digest(world.root) == before
    assert (
        first["state"] == "complete"
        and first["checkpoint_id"] == world.newest
        and 60_000 <= first["lag_ms"] < 600_000
    )
    assert [content for _, content in state_of(copies(world.copy)[0])] == world.state()
    assert first["files"] == len(state_of(copies(world.copy)[0])) + 1
    assert first["bytes"] == sum(
        path.stat().st_size
        for path in world.copy.rglob("*")
        if path.is_file() and "_weir" not in path.parts
    )
    assert DueWork.objects.filter(key__startswith="storage/replica-").exists()

    checkpoint(world, job, age_s=5)
    told = run()
    assert f"Checkpoint {world.newest} is at file:{world.copy}" in told
    replica = Replica.objects.get()
    assert replica.checkpoint_id == world.newest and replica.triggered_at

    client.force_login(builders.person())
    page = client.get(f"/jobs/prod-eu/{JOB}/replication/").content.decode()
    assert f"file:{world.copy}" in page and "would be lost" in page
    answer = client.get(f"/api/v1/jobs/prod-eu/{JOB}/replication/").json()
    assert answer["checkpoint_id"] == world.newest


def test_how_often_workers_look_stays_as_it_was_set(world: World, job: JobCurrent) -> None:
    def interval() -> tuple[int, int]:
        due = DueWork.objects.get(key__startswith="storage/replica-")
        return Replica.objects.get().every_s, due.interval_s

    assert refused(str(world.copy), "--every", "14")[0] == 2
    run(str(world.copy))
    assert interval() == (300, 300)
    assert "every 1 min." in run(str(world.copy), "--every", "60") and interval() == (60, 60)
    run(str(world.copy))
    assert interval() == (60, 60)
    assert refused("--every", "0")[0] == 2 and refused("--show", "--every", "90")[0] == 2
    assert interval() == (60, 60)
    due = DueWork.objects.get(key__startswith="storage/replica-")
    assert due.next_attempt_at == due.last_started_at + timedelta(seconds=60)
    lease = DueWork.objects.claim(due.key, timezone.now(), even_if_not_due=True)
    began, ended = timezone.now() - timedelta(minutes=2), timezone.now()
    assert work_of(due.key).next_at(FinishedAttempt(lease, began, ended, is_idle=False)) == ended


def test_a_try_that_fails_says_why_and_leaves_the_copy(world: World, job: JobCurrent) -> None:
    run(str(world.copy))
    copied = world.newest
    checkpoint(world, job)
    next((world.root / JOB / f"chk-{world.newest}").glob("*-*")).unlink()
    code, why = refused()
    assert code == 1 and "There is no file" in why
    row = Replica.objects.get()
    assert row.checkpoint_id == copied and "There is no file" in row.trouble
    state_of(copies(world.copy)[0])
    assert json.loads(run("--show", "--json"))["state"] == "last try failed"


def test_a_copy_that_lies_behind_is_a_finding_until_it_does_not(
    world: World, job: JobCurrent
) -> None:
    CheckpointFact.objects.update(trigger_time=timezone.now() - timedelta(hours=1))
    run(str(world.copy))
    (finding,) = Finding.objects.open().filter(rule="replication.lag")
    assert finding.severity == "warning" and (finding.job_id, finding.subject_kind) == (JOB, "job")
    checkpoint(world, job)
    run()
    assert not Finding.objects.open().filter(rule="replication.lag")
    CheckpointFact.objects.update(trigger_time=timezone.now() - timedelta(hours=3))
    run()
    run("--stop")
    assert not Finding.objects.open().filter(rule="replication.lag")


def test_where_a_copy_may_not_lie_none_is_asked_for(world: World, job: JobCurrent) -> None:
    for place in (world.root, world.root / "copy", world.root.parent):
        assert refused(str(place))[0] == 2
    assert refused("copies/one") == (2, refused("copies/one")[1])
    assert refused()[1] == "No copy of this job was requested: name a DESTINATION."
    assert refused(str(world.copy), "--source", "file:/elsewhere/x")[0] == 2
    assert not Replica.objects.exists()
    run(str(world.copy))
    assert "already" in refused(str(world.folder / "two"))[1]
    other = builders.job("prod-eu", at=timezone.now(), job_id="ee" * 16)
    with pytest.raises(CommandError, match="is taken"):
        call_command(
            "replicate",
            "prod-eu",
            other.job_id,
            str(world.copy / "within"),
            "--source",
            f"file:{world.root}/x",
        )


def test_a_copy_that_is_stopped_stays_and_makes_room_for_another(
    world: World, job: JobCurrent
) -> None:
    run(str(world.copy))
    assert "stays as it is" in run("--stop")
    assert copies(world.copy)
    run(str(world.folder / "two"))
    assert (
        Replica.objects.get().destination == str(world.folder / "two")
        and copies(world.folder / "two")
        and copies(world.copy)
    )


def test_a_job_that_has_ended_falls_behind_no_further(job: JobCurrent, client: Client) -> None:
    now = timezone.now()
    assert job_replication(job, now) is None
    client.force_login(builders.person())
    assert (
        "No copy was requested" in client.get(f"/jobs/prod-eu/{JOB}/replication/").content.decode()
    )
    assert client.get(f"/api/v1/jobs/prod-eu/{JOB}/replication/").status_code == 404
    Replica.objects.create(
        name="x",
        cluster="prod-eu",
        job_id=JOB,
        source="file:/a",
        destination="/b",
        every_s=60,
        created_at=now,
        triggered_at=now - timedelta(hours=2),
    )
    job.end_time = now - timedelta(hours=1)
    found = job_replication(job, now)
    assert found is not None and found.lag_ms == 3_600_000
