"""A real Flink whose TaskManagers are killed: what they left is cleaned up, and every job still
restores from its newest checkpoint.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.metadata.handles import handles
from tests.ingest.metadata.finding import find
from tests.integration.running import RunningWeir
from tests.lab.cluster import Lab, start
from tests.migrated import home_with_database

pytestmark = [pytest.mark.integration, pytest.mark.long]

CLUSTER = "left-behind"
WRITTEN_AGO = timedelta(days=5)
FIRST_SEEN_AGO = timedelta(days=4)
"""Both are longer ago than the age guard, which stays as it is by default."""
TRIES = 4
"""Jobs go on while they are audited: a checkpoint may be deleted as it is read, which is a doubt,
and doubt stops a clean-up.
"""


@dataclass
class Story:
    """Paths are local; ``restored`` says of each job what became of a job started from its newest
    retained checkpoint.
    """

    jobs: list[str] = field(default_factory=list)
    left: set[str] = field(default_factory=set)
    left_bytes: int = 0
    root: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    planned: list[dict[str, Any]] = field(default_factory=list)
    unapproved: int = 0
    applied: dict[str, Any] = field(default_factory=dict)
    referred: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)
    went_on: dict[str, bool] = field(default_factory=dict)
    restored: dict[str, str] = field(default_factory=dict)
    purged: dict[str, Any] = field(default_factory=dict)
    quarantined: int = 0
    waiting: int = -1
    restored_after_purge: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("cleanup")
    # Spark has enough to do with audits; what is known of jobs is brought up to date when it is
    # needed.
    cycles = {"WEIR_DEMO": "false", "WEIR_SPARK_INTERVAL_S": "3600"}
    with (
        start("1.20.5", "lingering", slot=7, folder=folder / "flink") as lab,
        RunningWeir(home_with_database(folder / "home"), **cycles) as weir,
    ):
        story = Story()
        _play(lab, story)
        _look_on(lab, weir, story)
        _audit_twice(lab, weir, story)
        _clean_up(lab, weir, story)
        for job_id in story.jobs[1:]:
            lab.cancel(job_id=job_id)
        story.restored = _restore_all(lab, story.jobs)
        _purge(lab, weir, story)
        story.restored_after_purge = _restore_all(lab, story.jobs)
        yield story


def _play(lab: Lab, story: Story) -> None:
    """A job, and two restored from it: one goes on with its files, the other makes its own.

    Each loses a TaskManager.
    """
    first = lab.job_id
    _lose_taskmanager(lab, 1, [first])
    lab.cancel()
    second = lab.play("lingering", _newest(lab, first), "LEGACY")
    third = lab.play("lingering", _newest(lab, first), "NO_CLAIM")
    _lose_taskmanager(lab, 2, [second, third])
    story.jobs = [first, second, third]


def _lose_taskmanager(lab: Lab, number: int, jobs: list[str]) -> None:
    """In the middle of a checkpoint of all of these jobs: what it has uploaded by then nobody will
    ever refer to.
    """
    for job_id in jobs:
        lab.wait_for(lambda account: account["counts"]["completed"] >= 2, job_id=job_id)
    for job_id in jobs:
        lab.wait_for(_is_uploaded, job_id=job_id)
    lab.kill_taskmanager(number)
    lab.start_taskmanager(number)
    for job_id in jobs:
        before = lab.checkpoints(job_id)["counts"]["completed"]
        lab.wait_for(
            lambda account, before=before: account["counts"]["completed"] > before, job_id=job_id
        )  # type: ignore[misc]


def _is_uploaded(account: dict[str, Any]) -> bool:
    """Keyed state is written within the first half of the time that a snapshot takes here."""
    pending = [one for one in account["history"] if one["status"] == "IN_PROGRESS"]
    return any(0.6 < time.time() - one["trigger_timestamp"] / 1000 < 1.3 for one in pending)


def _look_on(lab: Lab, weir: RunningWeir, story: Story) -> None:
    weir.wait_up()
    weir.use_its_spark()
    _manage(weir, "add_cluster", CLUSTER, lab.url)
    _manage(weir, "run_pipeline", "--collect", "--json")
    known = weir.rows("SELECT job_id FROM fleet_jobcurrent WHERE last_completed_at IS NOT NULL")
    assert {job_id for (job_id,) in known} == set(story.jobs)


def _audit_twice(lab: Lab, weir: RunningWeir, story: Story) -> None:
    roots = [str(lab.checkpoint_dir), str(lab.layout.savepoints)]
    _make_old(lab)
    _began_before(weir)
    left = _unreferenced(lab)
    # Roots that nobody registered are audited as well, and what was seen then counts later.
    _manage(
        weir,
        "audit_storage",
        *roots,
        "--as-of",
        (datetime.now(UTC) - FIRST_SEEN_AGO).isoformat(),
        "--json",
    )
    _register(weir, roots)
    for _ in range(TRIES):
        lines = _manage(weir, "audit_storage", "--json")
        story.root = next(
            line
            for line in lines
            if line.get("root") == f"file:{lab.checkpoint_dir}" and "cleanable" in line
        )
        if story.root["cleanable"]:
            break
    story.left = left & _unreferenced(lab)
    story.left_bytes = sum(Path(path).stat().st_size for path in story.left)


def _began_before(weir: RunningWeir) -> None:
    """Jobs that wrote files of then: what is older than a run is not taken for a file of it."""
    began = (datetime.now(UTC) - WRITTEN_AGO - timedelta(hours=1)).isoformat()
    order = (
        "from datetime import datetime; from webapp.fleet.models import JobCurrent\n"
        f"JobCurrent.objects.update(start_time=datetime.fromisoformat({began!r}))"
    )
    _manage(weir, "shell", "-v", "0", "-c", order)


def _register(weir: RunningWeir, roots: list[str]) -> None:
    """And at once put off the workers' own audits: one beside that of the story takes its time, and
    is perhaps what a plan is made of.
    """
    order = (
        "from datetime import timedelta; from django.core.management import call_command; from "
        "django.db import transaction; "
        "from django.utils import timezone; "
        "from webapp.storage.auditing.work_keys import AUDIT; from webapp.work import registry; "
        "from webapp.work.models import DueWork\n"
        "with transaction.atomic():\n"
        f"    for root, kind in zip({roots!r}, ('checkpoints', 'savepoints'), strict=True):\n"
        f"        call_command('add_storage_root', root, '--kind', kind, '--cluster', {CLUSTER!r}, "
        "'--attest', 'the test')\n"
        "    later = timezone.now() + timedelta(days=1)\n"
        "    DueWork.objects.ensure({AUDIT: registry.DAY_S}, later)\n"
        "    DueWork.objects.filter(key=AUDIT).update(next_attempt_at=later)\n"
    )
    _manage(weir, "shell", "-v", "0", "-c", order)


def _clean_up(lab: Lab, weir: RunningWeir, story: Story) -> None:
    story.plan, *story.planned = _manage(
        weir, "plan_cleanup", f"file:{lab.checkpoint_dir}", "--json"
    )
    name = story.plan["plan"]
    story.unapproved = weir.manage("apply_cleanup", name, "--apply").returncode
    user, weir.variables["WEIR_APPROVER_PASSWORD"] = weir.printed_sign_in()
    _manage(weir, "approve_cleanup", name, "--user", user)
    story.referred = _referred(lab)
    restored = {job_id: lab.checkpoints(job_id)["counts"]["restored"] for job_id in story.jobs[1:]}
    story.applied = _until_settled(weir, name, "--apply")
    story.there = {
        row["path"].removeprefix("file:")
        for row in story.planned
        if Path(row["path"].removeprefix("file:")).exists()
    }
    story.quarantined = _waiting(lab)
    for job_id in story.jobs[1:]:
        before = lab.checkpoints(job_id)["counts"]["completed"]
        account = lab.wait_for(
            lambda account, before=before: account["counts"]["completed"] > before, job_id=job_id
        )  # type: ignore[misc]
        story.went_on[job_id] = account["counts"]["restored"] == restored[job_id]


def _purge(lab: Lab, weir: RunningWeir, story: Story) -> None:
    name = story.plan["plan"]
    order = (
        "from datetime import timedelta; from django.utils import timezone; "
        "from webapp.cleanup import orders; from webapp.cleanup.models import CleanupPlan; "
        f"plan = CleanupPlan.objects.get(name={name!r}); "
        "orders.start_purge(plan, 'the test', plan.purge_at + timedelta(minutes=1))"
    )
    _manage(weir, "shell", "-v", "0", "-c", order)
    story.purged = _until_settled(weir, name, "--purge")
    story.waiting = _waiting(lab)


def _until_settled(weir: RunningWeir, name: str, verb: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for _ in range(TRIES):
        # Where a worker carries it out for longer than this, asking again tells what became of it.
        run = weir.manage("apply_cleanup", name, verb, "--json", "--wait", "480")
        if run.returncode == 0:
            told = json.loads(run.stdout.splitlines()[-1])
            if not told["trouble"]:
                return told
    raise AssertionError(f"{verb}: {told or run.stdout + run.stderr}")


def _restore_all(lab: Lab, jobs: list[str]) -> dict[str, str]:
    """Old job → RUNNING where the new one runs and has completed a checkpoint of its own."""
    new = {job_id: lab.play("lingering", _newest(lab, job_id)) for job_id in jobs}
    found = {}
    for job_id, new_id in new.items():
        lab.wait_for(
            lambda account: account["counts"]["completed"] >= 1 and account["latest"]["restored"],
            job_id=new_id,
        )
        found[job_id] = str(lab.get(f"/jobs/{new_id}")["state"])
    for new_id in new.values():
        lab.cancel(job_id=new_id)
    return found


def _newest(lab: Lab, job_id: str) -> str:
    retained = (lab.checkpoint_dir / job_id).glob("chk-*/_metadata")
    return f"file://{max(retained, key=lambda path: int(path.parent.name.removeprefix('chk-'))).parent}"


def _make_old(lab: Lab) -> None:
    at = (datetime.now(UTC) - WRITTEN_AGO).timestamp()
    for path in _files(lab.checkpoint_dir):
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (at, at))


def _referred(lab: Lab) -> set[str]:
    """By any checkpoint that is there, and those themselves."""
    for _ in range(20):
        # Jobs go on: a checkpoint that Flink deletes while it is read has a successor by then.
        with contextlib.suppress(FileNotFoundError):
            found = find(str(lab.checkpoint_dir))
            streams = [handle.stream for file in found for handle in handles(file.pieces())]
            named = {
                stream.path.removeprefix("file:")
                for stream in streams
                if stream is not None and stream.path is not None
            }
            return named | {file.path for file in found}
    raise AssertionError("no quiet moment to read the checkpoints in")


def _unreferenced(lab: Lab) -> set[str]:
    """Old files that nothing refers to, counted plainly; between two countings jobs go on, so their
    intersection counts.
    """
    border = time.time() - WRITTEN_AGO.total_seconds() / 2
    old = set()
    for path in _files(lab.checkpoint_dir):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < border:
                old.add(str(path))
    return old - _referred(lab)


def _waiting(lab: Lab) -> int:
    return sum(1 for _ in _files(Path(f"{lab.checkpoint_dir}.weir-quarantine")))


def _files(directory: Path) -> Iterable[Path]:
    # Unlike Path.rglob, os.walk does not mind directories that go meanwhile.
    return [Path(folder, name) for folder, _, names in os.walk(directory) for name in names]


def _manage(weir: RunningWeir, *words: str) -> list[dict[str, Any]]:
    """What a command printed as JSON, if it did."""
    run = weir.manage(*words)
    assert run.returncode == 0, f"{' '.join(words)}:\n{run.stdout}{run.stderr}"
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def test_what_killed_taskmanagers_left_is_found_and_nothing_else(story: Story) -> None:
    assert story.left
    assert {row["path"].removeprefix("file:") for row in story.planned} == story.left


def test_its_bytes_equal_a_plain_recount(story: Story) -> None:
    assert (story.root["orphan"]["files"], story.root["orphan"]["bytes"]) == (
        len(story.left),
        story.left_bytes,
    )
    assert (story.plan["files"], story.plan["bytes"]) == (len(story.left), story.left_bytes)


def test_nothing_goes_before_somebody_approved_it(story: Story) -> None:
    assert story.unapproved == 3


def test_the_plan_moves_all_of_it_and_nothing_that_is_referred_to(story: Story) -> None:
    assert story.applied["apply"]["quarantined"] == story.quarantined == len(story.left)
    assert story.there == set()
    assert not story.left & story.referred


def test_jobs_go_on_while_and_after_it_is_applied(story: Story) -> None:
    assert story.went_on == dict.fromkeys(story.jobs[1:], True)


def test_every_job_restores_from_its_newest_checkpoint_after_the_clean_up(story: Story) -> None:
    assert story.restored == dict.fromkeys(story.jobs, "RUNNING")


def test_the_purge_empties_the_quarantine(story: Story) -> None:
    assert story.purged["purge"]["purged"] == len(story.left)
    assert story.waiting == 0


def test_every_job_restores_from_its_newest_checkpoint_after_the_purge(story: Story) -> None:
    assert story.restored_after_purge == dict.fromkeys(story.jobs, "RUNNING")
