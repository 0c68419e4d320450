"""Everything together with real audits by Spark: two audits, a plan, an apply with a new checkpoint
in between, a purge.
"""

import csv
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from django.core.management import call_command
from django.utils import timezone

from tests.webapp.builders import cluster, job, person
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    return home


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def inventory(world: World, file: Path) -> str:
    """As an object store writes one."""
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["path", "bytes", "modified"])
        for path in world.all_files():
            found = path.stat()
            writer.writerow(
                [str(path), found.st_size, datetime.fromtimestamp(found.st_mtime, UTC).isoformat()]
            )
    return str(file)


@pytest.mark.django_db(transaction=True)
def test_from_two_audits_to_an_empty_quarantine(home: Path) -> None:
    now = timezone.now()
    old = now - timedelta(days=60)
    world = World(home / "ckpt")
    needed = [world.file(world.job(1) / "shared", at=old) for _ in range(3)]
    world.checkpoint(1, 7, needed, at=old)
    orphans = [world.file(world.job(1) / "shared", at=old) for _ in range(5)]
    foreign = world.file(world.root / "recovery", at=old)
    # Seen again and again while this test takes its time: an unreachable cluster would stop everything.
    told = {
        "state": "CANCELED",
        "terminal": True,
        "start_time": old,
        "last_completed_id": 7,
        "last_completed_at": old,
    }
    job(cluster(at=now + timedelta(days=1)).name, at=now, job_id=name_of_job(1), **told)
    run("add_storage_root", str(world.root), "--attest", "olga", "--cluster", "prod-eu")
    # Another root, with another job of its own and a savepoint that holds on to a file of the
    # first: that is no second name.
    other = World(home / "other", Random(1))
    other.checkpoint(3, 2, [other.file(other.job(3) / "shared", at=old)], at=old)
    other.savepoint("savepoint-000000-0123456789ab", [needed[0]], at=old)
    run("add_storage_root", str(other.root), "--attest", "olga", "--cluster", "prod-eu")

    month_ago = (now - timedelta(days=30)).isoformat()
    run(
        "audit_storage",
        str(world.root),
        "--listing",
        inventory(world, home / "inventory.csv"),
        "--as-of",
        month_ago,
    )
    recent = world.file(world.job(1) / "shared", at=now)
    told, of_other = [
        line
        for line in map(json.loads, run("audit_storage", "--json").splitlines())
        if "cleanable" in line
    ]
    assert of_other["cleanable"] and of_other["checkpoints"] == 2, of_other
    assert told["orphan"]["files"] == 5 and told["cleanable"], told

    head, *files = [json.loads(line) for line in run("plan_cleanup", "--json").splitlines()]
    assert sorted(file["path"] for file in files) == sorted(f"file:{path}" for path in orphans)
    plan = CleanupPlan.objects.get()
    user = person("ada")
    user.is_superuser = True
    user.save()
    orders.approve(plan, user, now)

    world.checkpoint(2, 1, orphans[:1], at=now)  # somebody found a use for one of them
    applied = json.loads(run("apply_cleanup", head["plan"], "--apply", "--json"))
    assert applied["apply"]["quarantined"] == 4 and applied["apply"]["judged_again"] == 1, applied
    assert orphans[0].exists() and not any(path.exists() for path in orphans[1:])
    assert not world.unresolved() and foreign.exists() and recent.exists()

    CleanupPlan.objects.update(purge_at=timezone.now())
    assert (
        json.loads(run("apply_cleanup", head["plan"], "--purge", "--json"))["purge"]["purged"] == 4
    )
    assert not any(path.is_file() for path in world.quarantine.rglob("*"))
    assert not world.unresolved() and all(path.exists() for path in needed)
