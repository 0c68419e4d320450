"""The stories of repeated job ids once more, by another builder: in roots of their own and in one,
with ids of high availability, of operators and drawn ones, with every mode of restore, and where
Weir was told less. What must stay is known from the play alone.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone

from tests.selections import mostly_long
from tests.webapp.builders import fact
from tests.webapp.cleanup.played_weeks import BEGAN, Job, Weeks
from tests.webapp.cleanup.test_whole import home
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.storage.models import CheckpointStorage

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)
IDS = {
    "fixed": "0" * 32,
    "of an operator": "ffffffffad6e0a3c0000000000000000",
    "drawn": "9e107d9d372bb6826bd81d3542a419d6",
}
LAYOUTS = ("own", "common", "named")
MODES = ("no_claim", "claim", "legacy")
PLAYED = pytest.mark.parametrize(
    "where", mostly_long([f"{layout}/{of}" for layout, of in product(LAYOUTS, IDS)])
)


class Scripted(Weeks):
    """What is likely happens."""

    def chance(self, share: float) -> bool:
        return share > 0.75

    def completes(self, one: Job) -> None:
        self.begin_checkpoint(one)
        self.pass_time(0.1)
        self.end_checkpoint(one)
        self.pass_time(0.1)
        self.collect_all()

    def audits(self, times: int = 2) -> None:
        for _ in range(times):
            for one in self.jobs:
                if one.runs and one.completed:
                    self.completes(one)
            self.audit()
            self.pass_time(80)

    def cleans_up(self) -> set[Path]:
        """Plan, apply and purge; returns what is gone."""
        self.collect_all()
        before = self.present()
        self.command("plan_cleanup", "--waste", "--json")
        for plan in CleanupPlan.objects.exclude(files=0).filter(state="planned"):
            orders.approve(plan, self.user, timezone.now())
            self.command("apply_cleanup", str(plan.name), "--apply", "--json")
            self.check(before, "apply")
            self.pass_time(24 * 8)
            self.collect_all()
            self.command("apply_cleanup", str(plan.name), "--purge", "--json")
            self.check(before, "purge")
        return {path for path in before if path not in self.present()}


@pytest.fixture
def played(home: Path, request: pytest.FixtureRequest) -> Iterator[Scripted]:
    told = getattr(request.node, "callspec", None)
    layout = told.params.get("where", "own").partition("/")[0] if told else "own"
    with time_machine.travel(BEGAN, tick=True) as clock:
        yield Scripted(home, 1, clock, layout=layout, clusters=3)


def ended_with(played: Scripted, name: str, jid: str, times: int = 1) -> Job:
    one = played.start(name, jid=jid, backend="rocksdb")
    for _ in range(times):
        played.completes(one)
    return one


def ends(played: Scripted, *jobs: Job) -> None:
    for one in jobs:
        played.end(one, "CANCELED")
    played.collect_all()
    played.pass_time(1)


def whole(played: Scripted, name: str, jid: str, of: Job, mode: str) -> Job:
    heir = played.start(name, of.completed[-1], mode, jid=jid, backend="rocksdb")
    for _ in range(4):
        played.completes(heir)
    return heir


@pytest.mark.parametrize("mode", mostly_long(MODES))
@PLAYED
def test_one_is_succeeded_and_another_of_its_id_is_not(
    played: Scripted, where: str, mode: str
) -> None:
    layout, _, of = where.partition("/")
    one = ended_with(played, "app-a", IDS[of])
    other = ended_with(played, "app-b", IDS[of] if layout == "own" else "1" * 32, 2)
    ends(played, one, other)
    whole(played, "app-c", "7" * 32, other, mode)
    played.audits()
    last = {path for path in one.completed[-1].needs if path.exists()}
    assert last
    gone = played.cleans_up()
    assert not last & gone
    if layout == "own" and mode == "no_claim":
        assert gone


@PLAYED
def test_one_runs_on_what_another_has_left(played: Scripted, where: str) -> None:
    layout, _, of = where.partition("/")
    origin = ended_with(played, "app-c", "5" * 32, 2)
    ends(played, origin)
    whole(played, "app-b", IDS[of] if layout == "own" else "1" * 32, origin, "no_claim")
    played.start("app-a", origin.completed[-1], "legacy", jid=IDS[of], backend="rocksdb")
    played.audits()
    gone = played.cleans_up()
    assert not origin.completed[-1].needs & gone


@PLAYED
def test_a_rule_deletes_what_another_discards(played: Scripted, where: str) -> None:
    layout, _, of = where.partition("/")
    one = ended_with(played, "app-a", IDS[of], 2)
    other = ended_with(played, "app-b", IDS[of] if layout == "own" else "1" * 32, 2)
    ends(played, one)
    played.audits(1)
    rule, kept = one.completed
    row = played.row(other)
    assert row is not None
    fact(row, rule.number, rule.at, discarded=True, end_time=rule.at)
    played.removed.add(rule.metadata)
    rule.metadata.unlink()
    files = {path for path in rule.files if path.exists()}
    played.audits(3)
    gone = played.cleans_up()
    assert not files & gone and not kept.needs & gone


@pytest.mark.parametrize("of", mostly_long(list(IDS)))
def test_an_heir_that_needs_files_of_another_is_not_self_contained(
    played: Scripted, of: str
) -> None:
    one = ended_with(played, "app-a", IDS[of], 2)
    ends(played, one)
    heir = played.start("app-b", one.completed[-1], "legacy", jid=IDS[of], backend="rocksdb")
    played.begin_checkpoint(heir)
    heir.number += 1
    inherited = set(one.completed[-1].files)
    played.end_checkpoint(heir)
    last = heir.completed[-1]
    last.files |= inherited
    played.write_metadata(last)
    played.collect_all()
    played.audits(2)
    found = CheckpointStorage.objects.filter(metadata_path=f"file:{last.metadata}").latest("id")
    assert (found.foreign_files, found.self_contained) == (len(inherited), False)
    played.cleans_up()


@pytest.mark.parametrize("left_out", mostly_long(["_metadata", "/shared/", "/chk-"]))
def test_inventories_of_a_part_make_nothing_deletable(played: Scripted, left_out: str) -> None:
    """Their manifests do not say that they leave something out."""
    one = ended_with(played, "app-a", IDS["drawn"], 3)
    other = ended_with(played, "app-b", "1" * 32, 3)
    ends(played, other)
    orphan = played.file(one.folder / "shared")
    played.pass_time(100)
    for _ in range(3):
        for root in played.roots[:2]:
            rows = [
                [str(path), str(path.stat().st_size), f"{path.stat().st_mtime}"]
                for path in sorted(root.rglob("*"))
                if path.is_file() and left_out not in str(path)
            ]
            played.inventories = [(played.now, root, rows)] if rows else []
            played.pass_time(2)
            played.import_inventory()
        played.audits(1)
    played.audits(2)
    needed = set(played.needed())
    assert needed and orphan.exists()
    assert not needed & played.cleans_up()


def test_what_the_only_checkpoint_names_stays_whose_directory_was_excluded(
    played: Scripted,
) -> None:
    one = ended_with(played, "app-a", IDS["drawn"], 2)
    orphan = played.file(one.folder / "shared")
    ends(played, one)
    played.command(
        "storage_statement", "excluded", f"file:{one.folder}/chk-2", "--reason", "kept by hand"
    )
    played.audits(3)
    gone = played.cleans_up()
    assert orphan in gone and not one.completed[-1].needs & gone
