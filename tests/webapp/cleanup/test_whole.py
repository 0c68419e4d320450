"""The guide "Cleaning up, day by day", followed with real audits by Spark: every command that it
names, in its order, from the first listing to an empty quarantine.
"""

import csv
import json
import shlex
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.webapp.builders import cluster, fact, job, person
from tests.webapp.cleanup.worlds import World, name_of_job
from tests.webapp.documentation.commands import BLOCK, MANAGE
from webapp.accounts.models import User
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import JobCurrent
from webapp.site.documentation.places import PAGES

GUIDE = PAGES / "guides" / "cleaning-up.md"


@dataclass
class Guide:
    """Its commands, one after the other; ``given`` stands in place of ROOT, PLAN and the like."""

    given: dict[str, str]
    lines: list[str] = field(
        default_factory=lambda: [
            line for block in BLOCK.findall(GUIDE.read_text()) for line in block.splitlines()
        ]
    )

    def follow(self, name: str, *more: str) -> str:
        """What its next command prints, which must be this one."""
        words = [self.given.get(word, word) for word in shlex.split(self.lines.pop(0))]
        assert words[:3] == [*MANAGE, name]
        return run(*words[2:], *more)

    def leave_out(self, name: str) -> None:
        assert name in self.lines.pop(0)


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setenv("WEIR_APPROVER_PASSWORD", "correct horse battery")
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


def test_the_guide_counts_the_days_of_the_default_settings() -> None:
    """72 hours until files are old enough, 168 hours of grace."""
    text, weir = GUIDE.read_text(), settings.WEIR
    guard, grace = weir.storage_age_guard_h // 24, weir.quarantine_h // 24
    assert f"takes {guard + grace} days, or {grace} if" in text
    assert f"saves {guard} days" in text and f"`WEIR_QUARANTINE_H`, {grace} days" in text
    assert f"every {weir.storage_audit_h} hours" in text
    assert f"after {weir.plan_expires_h} hours the plan has expired" in text


@pytest.mark.parametrize("has_inventory", [True, False], ids=["old inventory", "listings alone"])
@pytest.mark.django_db(transaction=True)
def test_who_follows_the_guide_comes_to_an_empty_quarantine(
    home: Path, has_inventory: bool
) -> None:
    now = timezone.now()
    old, since = now - timedelta(days=60), now - timedelta(days=4)
    world = World(home / "ckpt")
    needed = [world.file(world.job(1) / "shared", at=old) for _ in range(3)]
    subsumed = world.checkpoint(1, 6, needed, at=old)
    orphans = [world.file(world.job(1) / "shared", at=old) for _ in range(5)]
    foreign = world.file(world.root / "recovery", at=old)
    # One that ended before anybody watched: what it kept, and what it left.
    kept = world.file(world.job(5) / "shared", at=old)
    last = world.checkpoint(5, 9, [kept], at=old)
    left = world.file(world.job(5) / "shared", at=old)
    User.objects.filter(pk=person("ada").pk).update(is_superuser=True)
    # Seen again and again while this test takes its time: an unreachable cluster would stop everything.
    at = now + timedelta(days=1)
    written = {
        "last_completed_id": 6,
        "last_completed_at": old,
        "last_completed_path": f"file:{subsumed}",
    }
    of = job(cluster(at=at).name, at=at, job_id=name_of_job(1), start_time=old, **written)
    fact(of, 6, old, external_path=f"file:{subsumed}")
    given = {
        "DIRECTORY": str(world.job(5)),
        "ROOT": str(world.root),
        "CLUSTER": "prod-eu",
        "NAME": "olga",
    }
    given["INVENTORY"] = inventory(world, home / "inventory.csv")
    given["INSTANT"] = (now - timedelta(days=30)).isoformat()
    guide = Guide(given)
    # Another root, with another job of its own and a savepoint that holds on to a file of the
    # first: that is no second name.
    other = World(home / "other", Random(1))
    other.checkpoint(3, 2, [other.file(other.job(3) / "shared", at=old)], at=old)
    other.savepoint("savepoint-000000-0123456789ab", [needed[0]], at=old)

    def checkpointed() -> None:
        shutil.rmtree(subsumed)
        world.checkpoint(1, 7, needed, at=now - timedelta(minutes=10))
        taken = now - timedelta(minutes=11)
        path = f"file:{world.job(1)}/chk-7"
        fact(of, 7, taken, external_path=path)
        JobCurrent.objects.update(
            last_completed_id=7, last_completed_at=taken, last_completed_path=path
        )

    def audited(*more: str) -> dict[str, dict[str, object]]:
        lines = map(json.loads, guide.follow("audit_storage", *more, "--json").splitlines())
        return {line["root"]: line for line in lines if "cleanable" in line}

    if has_inventory:
        checkpointed()
        assert audited()[world.uri]["orphan"] == {"files": 0, "bytes": 0}
    else:
        guide.leave_out("audit_storage")
    guide.follow("add_storage_root")
    run("add_storage_root", str(other.root), "--attest", "olga", "--cluster", "prod-eu")
    first = audited(*([] if has_inventory else ["--as-of", since.isoformat()]))[world.uri]
    assert first["orphan"]["files"] == (5 if has_inventory else 0), first
    guide.follow("storage_statement")
    if not has_inventory:
        checkpointed()
    recent = world.file(world.job(1) / "shared", at=now)
    roots = audited()
    assert roots[other.uri]["cleanable"] and roots[other.uri]["checkpoints"] == 2, roots
    assert roots[world.uri]["orphan"]["files"] == 6 and roots[world.uri]["cleanable"], roots

    head, *files = map(json.loads, guide.follow("plan_cleanup", "--json").splitlines())
    assert sorted(file["path"] for file in files) == sorted(
        f"file:{path}" for path in (*orphans, left)
    )
    waste = map(json.loads, run("plan_cleanup", "--waste", "--json").splitlines())
    assert {f"file:{last}/_metadata", f"file:{kept}"} <= {file.get("path") for file in waste}
    given["PLAN"] = head["plan"]
    guide.follow("approve_cleanup")

    world.checkpoint(2, 1, orphans[:1], at=now)  # somebody found a use for one of them
    applied = json.loads(guide.follow("apply_cleanup", "--json"))
    assert applied["apply"]["quarantined"] == 5 and applied["apply"]["judged_again"] == 1, applied
    assert orphans[0].exists() and kept.exists()
    assert not any(path.exists() for path in (*orphans[1:], left))
    assert not world.unresolved() and foreign.exists() and recent.exists()

    with pytest.raises(CommandError, match="can be undone until"):
        run("apply_cleanup", head["plan"], "--purge")
    CleanupPlan.objects.filter(name=head["plan"]).update(purge_at=timezone.now())
    assert json.loads(guide.follow("apply_cleanup", "--json"))["purge"]["purged"] == 5
    assert guide.lines == []
    assert not any(path.is_file() for path in world.quarantine.rglob("*"))
    assert not world.unresolved() and all(path.exists() for path in needed)
