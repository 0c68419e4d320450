"""Somebody fills the disk, or it fills by itself, while Weir writes: the lake, a run, the database,
a plan, a report, a log.

Each says so in words, counts nothing half written as whole, and goes on by itself when there is
room again.
"""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from ingest.errors import IngestError
from ingest.flink_rest.address import parse_address
from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from ingest.recordings.recorder import LogCopies
from ingest.records import LogRecord, Observed
from ingest.storage.plan_folder import PlanFolder
from spark_jobs import manifest as manifests
from tests.attacks.full_disk import Disk, disk
from tests.attacks.scale import FULL, examples
from tests.webapp.cleanup.carrying import effects_equal_the_journal, plan
from tests.webapp.cleanup.worlds import World
from webapp.config.environment import PROJECT_DIR

AT = datetime(2026, 11, 21, tzinfo=UTC)
FULL_IN_WORDS = r"(?i)space|too large"
ROOM = (0, 1_000, 5_000, 20_000)[: examples(3, 4)]
"""How much more may be written before it is full: nothing, a beginning, most of it."""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "small") as found:
        yield found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "ckpt")


@pytest.fixture
def orphan(world: World) -> Path:
    world.checkpoint(1, 1, [world.file(world.job(1) / "shared")])
    return world.file(world.job(1) / "shared")


def observed(count: int) -> list[Observed]:
    line = "x" * 300
    rows = [
        LogRecord(
            "jm.log", AT, "WARN", "a.b.C", f"{line}{number}", f"{number:032x}", 0, "jm.log", number
        )
        for number in range(count)
    ]
    return [Observed("c", AT, "log", tuple(rows))]


def rows_of(lake: Lake) -> int:
    return int(DeltaTable(f"{lake.root}/{TABLES['log_records'].name}").to_pyarrow_table().num_rows)


@pytest.mark.parametrize("room", ROOM)
def test_a_commit_into_the_lake_is_whole_or_none(small: Disk, room: int) -> None:
    lake = Lake(str(small.path / "lake"))
    lake.append(observed(10))
    with small.full(room):
        with pytest.raises(
            Exception, match=r"(?i)space|too large|cannot be written|limit|os error 2[78]"
        ):
            lake.append(observed(3_000))
        assert rows_of(lake) == 10
    assert rows_of(Lake(str(small.path / "lake"))) == 10
    lake.append(observed(10))
    assert rows_of(lake) == 20


def test_a_run_that_could_not_be_written_is_no_run(small: Disk) -> None:
    told = manifests.Manifest(
        "cycle",
        "a",
        {},
        {},
        {f"t{number}": manifests.Output(1, ("x" * 90,)) for number in range(90)},
        {},
        AT,
        AT,
    )
    with small.full(200), pytest.raises(OSError, match=FULL_IN_WORDS):
        manifests.write(told, str(small.path / "run"))
    with pytest.raises((manifests.BadManifest, OSError)):
        manifests.read(str(small.path / "run"))
    assert manifests.read(manifests.write(told, str(small.path / "run"))) == told


@pytest.mark.parametrize("room", ROOM[:2])
def test_a_plan_that_could_not_be_written_is_none(
    small: Disk, world: World, orphan: Path, tmp_path: Path, room: int
) -> None:
    folder = PlanFolder(str(small.path / "plan"))
    with small.full(room), pytest.raises(OSError, match=FULL_IN_WORDS):
        folder.write("manifest.json", b"x" * 50_000)
    assert not folder.exists("manifest.json") and folder.names("") == []
    folder.write("manifest.json", b"x")


def test_nothing_is_moved_that_no_journal_can_tell_of(
    small: Disk, world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, small.path)
    fresh = carried.recheck().fresh()
    with small.full(), pytest.raises(OSError, match=FULL_IN_WORDS):
        # made while there was room
        carried.recheck = lambda: Told(fresh)  # type: ignore[assignment,method-assign]
        carried.apply()
    assert orphan.exists() and not world.quarantine.exists()
    del carried.recheck  # type: ignore[method-assign]
    carried.apply()
    assert not orphan.exists() and carried.outcomes("apply") == {orphan.name: "quarantined"}
    effects_equal_the_journal(carried)


class Told:
    def __init__(self, audit: object) -> None:
        self.audit = audit

    def fresh(self) -> object:
        return self.audit


def test_a_recording_says_what_is_the_matter(small: Disk) -> None:
    copies = LogCopies((), small.path / "logs", parse_address("http://127.0.0.1:1", None), 10 << 20)
    with small.full(), pytest.raises(IngestError, match="cannot be written"):
        copies.add_whole("jm.log", b"2026-11-21 04:00:00,001 WARN a.b.C [] - x\n" * 1_000)


@pytest.mark.skipif(not FULL, reason="starts commands, each of which takes seconds: make attack")
def test_a_database_that_is_full_says_so_and_stays_whole(small: Disk) -> None:
    if not small.is_mounted:
        pytest.skip(
            "without a disk of its own the database cannot be filled: mounting is not allowed here"
        )
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WEIR_", "DJANGO_", "SPARK_"))
    }
    environment = clean | {
        "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
        "WEIR_HOME": str(small.path / "home"),
    }

    def command(*words: str) -> "subprocess.CompletedProcess[str]":
        called = [sys.executable, "manage.py", *words]
        return subprocess.run(
            called,
            env=environment,
            cwd=PROJECT_DIR,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert command("migrate").returncode == 0
    with small.full():
        refused = command("add_storage_root", str(small.path / "ckpt"))
        assert refused.returncode != 0
        assert "Is its disk full" in refused.stderr and "Traceback" not in refused.stderr
    taken = command("add_storage_root", str(small.path / "ckpt"))
    assert taken.returncode == 0, taken.stdout + taken.stderr
    with sqlite3.connect(small.path / "home" / "weir.sqlite3") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM storage_storageroot").fetchone() == (1,)
