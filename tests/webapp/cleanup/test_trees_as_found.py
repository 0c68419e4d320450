"""A tree as it is found, with all at once that keeps files: what a job left whose cluster is gone,
files of others that are called ``_metadata``, a backup beside its original, links. Each keeps what
it may refer to, and nothing else: real audits, plans, applies and purges.
"""

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.selections import mostly_long
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet, completed, tell
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, date
from webapp.storage.models import AuditDoubt, RootFigures

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)
RUNS, RUNS_ELSEWHERE, GONE = 7, 8, 5


class Found:
    def __init__(self, home: Path) -> None:
        self.fleet = Fleet(home)
        self.world = self.fleet.application("app-a", RUNS)
        self.other = self.fleet.application("app-b", RUNS_ELSEWHERE)
        self.orphans = {*left_by(self.world, RUNS), *left_by(self.other, RUNS_ELSEWHERE)}
        self.world.checkpoint(GONE, 13, left_by(self.world, GONE), at=OLD)
        self._complete(20, OLD + timedelta(days=1))
        root = self.world.root
        self._file("events/_metadata", parquet)
        self._file("table/_metadata", lambda path: path.write_text('{"snapshots": [1, 2]}'))
        self._file("spool/_metadata", Path.touch)
        shutil.copytree(self.world.job(RUNS), root / "backup" / self.world.job(RUNS).name)
        (root / "latest").symlink_to(root / "events")
        (root / "broken").symlink_to(root / "no-such-directory")

    def _file(self, name: str, write: Callable[[Path], object]) -> None:
        path = self.world.root / name
        path.parent.mkdir()
        write(path)
        date(path, OLD)

    def audit_twice(self) -> None:
        self.fleet.audit_twice(lambda: self._complete(21, NOW - timedelta(minutes=20)))

    def _complete(self, checkpoint: int, at: datetime) -> None:
        for name, world, number in (
            ("app-a", self.world, RUNS),
            ("app-b", self.other, RUNS_ELSEWHERE),
        ):
            needed = world.file(world.job(number) / "shared", at=at)
            world.checkpoint(number, checkpoint, [needed], at=at)
            tell(name, **completed(world, checkpoint, at, number))


def left_by(world: World, number: int) -> list[Path]:
    """Files that nothing refers to."""
    return [world.file(world.job(number) / "shared", at=OLD) for _ in range(3)]


def parquet(path: Path) -> None:
    """A summary, as Spark and Hive wrote them beside their tables."""
    pq.write_metadata(pa.schema([("amount", pa.int64())]), path)


def newest_figures() -> list[RootFigures]:
    return list(RootFigures.objects.order_by("-as_of", "root")[:2])


@pytest.fixture
def found(home: Path) -> Found:
    return Found(home)


def test_what_is_provable_goes_beside_everything_that_is_not(found: Found) -> None:
    found.audit_twice()
    assert all(figures.cleanable for figures in newest_figures())
    assert found.fleet.clean_up_all() == found.orphans


def test_what_a_job_left_whose_cluster_is_gone_goes_on_the_word_of_a_person(found: Found) -> None:
    of_gone = {path for path in found.world.job(GONE).rglob("*") if path.is_file()}
    assert len(of_gone) == 4
    found.audit_twice()
    statement = ("dead_job", str(found.world.job(GONE)), "--reason", "Deleted in March.")
    run("storage_statement", *statement)
    run("audit_storage")
    assert found.fleet.clean_up_all() == found.orphans | of_gone


def test_an_unreadable_checkpoint_of_nobody_blocks_all_and_says_what_ends_it(found: Found) -> None:
    damaged = found.world.job(9) / "chk-4" / "_metadata"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes((found.world.job(GONE) / "chk-13" / "_metadata").read_bytes()[:40])
    date(damaged, OLD)
    found.audit_twice()
    assert all(figures.not_cleanable == ["in_doubt"] for figures in newest_figures())
    doubt = AuditDoubt.objects.filter(subject=f"file:{damaged}").latest("id")
    assert doubt.reach == "all_roots"
    assert "dead_job" in {statement["kind"] for statement in doubt.statements}
    run("storage_statement", "dead_job", str(found.world.job(9)), "--reason", "Nobody knows it.")
    run("audit_storage")
    assert all(figures.cleanable for figures in newest_figures())


@pytest.mark.parametrize("is_excluded", mostly_long([False, True]))
def test_a_copy_is_not_told_from_its_original_while_part_of_the_tree_is_not_seen(
    found: Found, home: Path, is_excluded: bool
) -> None:
    """What lies behind a link that leads out of the tree may use the name of the copy."""
    (home / "elsewhere").mkdir()
    (found.world.root / "elsewhere").symlink_to(home / "elsewhere")
    if is_excluded:
        backup = str(found.world.root / "backup")
        run("storage_statement", "excluded", backup, "--reason", "A backup of May.")
    found.audit_twice()
    of_other = {path for path in found.orphans if path.is_relative_to(found.other.root)}
    assert found.fleet.clean_up_all() == (found.orphans if is_excluded else of_other)
