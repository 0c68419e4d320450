"""A backup is made, the original is destroyed, and what people and machines see of the restored one is the same: on both databases."""

import hashlib
import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import postgresql as installed
from tests.migrated import home_with_database
from tests.webapp.backup.installation import Installation, told_by

PASSPHRASE = "correct horse battery staple"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The backup of an SQLite installation that is gone, and what it showed."""
    folder = tmp_path_factory.mktemp("sqlite")
    lived = Installation(home_with_database(folder / "home"), passphrase=PASSPHRASE)
    told = lived.story("live", "see=before", f"backup={folder / 'backup'}")
    shutil.rmtree(lived.home)
    return folder / "backup", told["before"]


@pytest.fixture
def postgresql() -> Iterator[str]:
    with installed.postgresql() as server:
        server.psql("CREATE DATABASE restored;")
        yield installed.migrated_database(server, "lived_in")


def test_what_was_on_sqlite_is_there_again_elsewhere_and_goes_on(original: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, before = original
    here = Installation(tmp_path / "other", passphrase=PASSPHRASE)
    here.restore(folder)
    told = here.story("see=after", "take=1.20.5/B:more", "see=on")
    assert told["after"] == before
    assert before["secret"] and before["signs_in"] and before["api"]["checkpoints"]["results"] and before["api"]["findings"]["results"]
    # The next cycle went on from the state of the last one.
    assert (
        told["on"]["restarts"] == 0 and told["on"]["tables"]["checkpoints_checkpointfact"] > before["tables"]["checkpoints_checkpointfact"]
    )


@pytest.mark.cluster
def test_what_was_on_postgresql_is_there_again_in_another_database_and_goes_on(postgresql: str, tmp_path: Path) -> None:
    lived = Installation(tmp_path / "home", postgresql)
    before = lived.story("live", "see=before", f"backup={tmp_path / 'backup'}")["before"]
    shutil.rmtree(lived.home)
    other = Installation(tmp_path / "other", postgresql.replace("/lived_in?", "/restored?"))
    assert other.database_url != lived.database_url
    other.restore(tmp_path / "backup")
    told = other.story("see=after", "take=1.20.5/B:more", "see=on")
    assert told["after"] == before and before["secret"] and before["api"]["checkpoints"]["results"]
    assert told["on"]["restarts"] == 0 and told["on"]["tables"]["fleet_jobcurrent"] > before["tables"]["fleet_jobcurrent"]


def test_a_backup_that_is_made_in_the_middle_of_a_cycle_becomes_what_the_original_became(
    original: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    lived = Installation(tmp_path / "lived", passphrase=PASSPHRASE)
    lived.restore(original[0])
    writing = lived.begin(f"hold={tmp_path}", "take=1.20.5/B:more", "see=on")
    while not (tmp_path / "held").exists() and writing.poll() is None:
        time.sleep(0.1)
    done = lived.run("manage.py", "backup", str(tmp_path / "backup"))
    (tmp_path / "go").touch()
    became = told_by(writing)["on"]
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "backup" / "database" / "weir.sqlite3") as kept:
        states = dict(kept.execute("SELECT state, count(*) FROM pipeline_manifest GROUP BY state"))
        assert states["written"] == 1 and kept.execute("SELECT count(*) FROM pipeline_pipelinerun WHERE state = 'running'").fetchone() == (
            1,
        )
    other = Installation(tmp_path / "other", passphrase=PASSPHRASE)
    other.restore(tmp_path / "backup")
    told = other.story("work", "see=after")["after"]
    assert (told["api"], told["fleet"]) == (became["api"], became["fleet"]) and "more" in told["fleet"]
    assert told["restarts"] == 0


def refused(here: Installation, folder: Path, *more: str) -> str:
    done = here.run("manage.py", "restore", str(folder), *more)
    assert done.returncode == 2, done.stdout + done.stderr
    assert not (here.home / "weir.sqlite3").exists() and not (here.home / "lake").exists()
    return done.stderr


def test_a_damaged_or_unfinished_backup_restores_nothing(original: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(original[0], copy)
    here = Installation(tmp_path / "home", passphrase=PASSPHRASE)
    file = next(copy.glob("lake/checkpoints/date=*/*.parquet"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert f"{file.relative_to(copy)} are missing or are not as they were" in refused(here, copy)
    file.write_bytes(whole)
    assert here.run("manage.py", "restore", str(copy), "--check").returncode == 0
    (copy / "backup.json").rename(copy / "backup.unfinished")
    assert "was not finished" in refused(here, copy)


def test_keys_are_sealed_by_a_passphrase_and_closed_to_others(original: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder = original[0]
    assert "The passphrase" in refused(Installation(tmp_path / "home", passphrase="another passphrase"), folder)
    assert set(json.loads((folder / "secrets.json").read_text())) == {"salt", "sealed"}
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))


def test_nothing_that_is_there_is_overwritten(original: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    here = Installation(tmp_path / "home", passphrase=PASSPHRASE)
    (here.home / "reports" / "mine").mkdir(parents=True)
    assert f"{here.home / 'reports'} is not empty" in refused(here, original[0])
    done = here.run("manage.py", "backup", str(original[0]))
    assert done.returncode == 2 and "holds a backup already" in done.stderr


def test_a_backup_that_was_broken_off_goes_on_and_so_does_a_restore(tmp_path: Path) -> None:
    lived, folder = Installation(home_with_database(tmp_path / "home")), tmp_path / "backup"
    (lived.home / "plans" / "p").mkdir(parents=True)
    (lived.home / "plans" / "p" / "journal").write_text("sealed")
    folder.mkdir()
    (folder / "backup.unfinished").touch()
    (folder / "lake").mkdir()
    (folder / "lake" / "left.parquet").write_text("of the attempt before")
    assert lived.run("manage.py", "backup", str(folder)).returncode == 0
    assert not (folder / "lake" / "left.parquet").exists()
    here = Installation(tmp_path / "here")
    (here.home / "plans").mkdir(parents=True)
    (here.home / "plans" / "left").write_text("of the attempt before")
    (here.home / "restoring").write_text(hashlib.sha256((folder / "backup.json").read_bytes()).hexdigest())
    done = here.run("manage.py", "restore", str(folder))
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (here.home / "plans").rglob("*")] == ["p", "journal"]
    assert (here.home / "secrets" / "field_keys").read_text() == (lived.home / "secrets" / "field_keys").read_text()
