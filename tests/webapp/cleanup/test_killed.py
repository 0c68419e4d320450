"""The commands as processes of their own, killed with -9 while they move files."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ingest.storage.plan_folder import PlanFolder
from tests.migrated import home_with_database
from tests.webapp.cleanup.worlds import World
from webapp.cleanup.journal import Journal
from webapp.cleanup.places import Places
from webapp.cleanup.plan_reader import PlanReader

APPROVED = """
import io, json, os
from django.core.management import call_command
def told(*words):
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()
told("add_storage_root", {root!r}, "--attest", "olga")
told("audit_storage")
name = json.loads(told("plan_cleanup", "--json").splitlines()[0])["plan"]
os.environ["WEIR_APPROVER_PASSWORD"] = told("ensure_admin").split()[-1]
told("approve_cleanup", name, "--user", "admin")
print(name)
"""
"""The commands before the one that is killed, in one process: most of the time of each is its
start.
"""
APPLIED = 'told("apply_cleanup", name, "--apply")\n'
PROJECT = Path(__file__).resolve().parents[3]
FILES = 60


class Commands:
    """A home of its own, with commands that are started one by one; no service runs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WEIR_", "DJANGO_", "SPARK_"))
        }
        settings = "tests.webapp.cleanup.site_settings"
        self.environment = clean | {
            "DJANGO_SETTINGS_MODULE": settings,
            "WEIR_HOME": str(home),
            "WEIR_CLEANUP_FILES_PER_S": "40",
        }

    def start(self, *command: str) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "manage.py", *command]
        with (self.home / "killed.log").open("ab") as log:
            return subprocess.Popen(
                words,
                env=self.environment,
                cwd=PROJECT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def __call__(self, *command: str) -> str:
        words = [sys.executable, "manage.py", *command]
        done = subprocess.run(
            words,
            env=self.environment,
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(home_with_database(tmp_path / "home"))


def approved(
    commands: Commands, tmp_path: Path, then: str = ""
) -> tuple[World, list[Path], list[Path], str]:
    """A world, what its checkpoint needs, its orphans, and the plan of these."""
    world = World(tmp_path / "ckpt")
    needed = [world.file(world.job(1) / "shared") for _ in range(3)]
    world.checkpoint(1, 1, needed)
    orphans = [world.file(world.job(1) / "shared") for _ in range(FILES)]
    told = commands("shell", "-v", "0", "-c", APPROVED.format(root=str(world.root)) + then)
    return world, needed, orphans, told.splitlines()[-1]


@pytest.mark.long
def test_killed_in_the_middle_the_next_run_goes_on_and_the_journal_tells_everything(
    commands: Commands, tmp_path: Path
) -> None:
    world, needed, orphans, name = approved(commands, tmp_path)

    kill_when(commands.start("apply_cleanup", name, "--apply"), lambda: gone(orphans) >= FILES // 3)
    assert 0 < gone(orphans) < FILES, (commands.home / "killed.log").read_text()
    orphans[-1].write_bytes(b"written anew")  # a file of the plan that may still be there
    told = json.loads(commands("apply_cleanup", name, "--apply", "--json"))
    assert told["state"] == "quarantined"

    rows, places = journal_of(commands, name)
    assert len(rows) == FILES
    for path, (row, target) in rows.items():
        assert Path(target).exists() == (row.outcome == "quarantined"), path
    assert places == sorted(str(file) for file in world.quarantine.rglob("*") if file.is_file())
    assert orphans[-1].read_bytes() == b"written anew"
    assert all(file.exists() for file in needed) and not world.unresolved()

    kill_when(commands.start("apply_cleanup", name, "--undo"), lambda: gone(orphans) <= FILES // 2)
    commands("apply_cleanup", name, "--undo", "--json")
    assert not gone(orphans)


@pytest.mark.long
def test_a_purge_killed_in_the_middle_goes_on_and_deletes_nothing_else(
    commands: Commands, tmp_path: Path
) -> None:
    world, needed, orphans, name = approved(commands, tmp_path, APPLIED)
    grace_is_over(commands)

    kept = [path for path in world.quarantine.rglob("*") if path.is_file()]
    assert gone(orphans) == len(kept) == FILES
    kill_when(commands.start("apply_cleanup", name, "--purge"), lambda: gone(kept) >= FILES // 3)
    assert 0 < gone(kept) < FILES, (commands.home / "killed.log").read_text()
    assert all(file.exists() for file in needed) and not world.unresolved()

    told = json.loads(commands("apply_cleanup", name, "--purge", "--json"))
    assert (told["state"], told["purge"]["purged"], gone(kept)) == ("purged", FILES, FILES)
    assert all(file.exists() for file in needed) and not world.unresolved()


def grace_is_over(commands: Commands) -> None:
    with closing(sqlite3.connect(commands.home / "weir.sqlite3")) as database, database:
        database.execute("UPDATE cleanup_cleanupplan SET purge_at = datetime('now', '-1 hour')")


def kill_when(process: "subprocess.Popen[bytes]", condition: Callable[[], bool]) -> None:
    """With -9, and whatever it started."""
    give_up = time.monotonic() + 120
    while not condition():
        assert process.poll() is None and time.monotonic() < give_up
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def gone(files: list[Path]) -> int:
    return sum(not file.exists() for file in files)


def journal_of(commands: Commands, name: str):
    (folder,) = (commands.home / "plans").iterdir()
    reader = PlanReader(PlanFolder(str(folder)), name)
    places = Places(reader.manifest, name)
    targets = {
        row["path"]: places.of(row).target for part in reader.parts() for row in part.to_pylist()
    }
    journal = Journal(reader.folder, name, "apply")
    rows = {
        row.path: (row, targets[row.path])
        for chunk in journal.finished_chunks()
        for row in journal.read(chunk).rows
    }
    return rows, sorted(
        target for path, (row, target) in rows.items() if row.outcome == "quarantined"
    )
