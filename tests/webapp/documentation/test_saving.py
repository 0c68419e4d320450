"""An installation is saved and restored by the commands of the page *Operation*, while it works."""

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pgserver._commands import POSTGRES_BIN_PATH

from tests import postgresql
from tests.installation import Installation
from tests.migrated import home_with_database
from tests.webapp.documentation.commands import BLOCK
from webapp.config.environment import PROJECT_DIR
from webapp.site.documentation.places import PAGES

SECTION = re.compile(r"^## Save and restore.*?(?=^## )", re.MULTILINE | re.DOTALL)
WHOLE, CHANGED_MEANWHILE = 0, 1


@dataclass
class Reader:
    """Somebody who types what the page says, for the installation and folder of their own."""

    installation: Installation
    folder: Path

    def types(self, of: str) -> None:
        """The block of commands in which ``of`` stands; each line by itself, with ``umask`` where
        it names one.
        """
        (section,) = SECTION.findall((PAGES / "operation.md").read_text())
        (block,) = (block for block in BLOCK.findall(section) if of in block)
        for line in block.splitlines():
            variables = self.installation.variables
            variables["PATH"] = f"{POSTGRES_BIN_PATH}:{variables['PATH']}"
            ours = line.replace("BACKUP", str(self.folder)).replace(
                ".venv/bin/python", sys.executable
            )
            done = subprocess.run(
                ["bash", "-c", ours],
                cwd=PROJECT_DIR,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
            may_be = (WHOLE, CHANGED_MEANWHILE) if ours.startswith("tar --create") else (WHOLE,)
            assert done.returncode in may_be, f"{line}\n{done.stdout}{done.stderr}"


@pytest.fixture
def server() -> Iterator[Any]:
    with postgresql.postgresql() as started:
        yield started


def facts(seen: dict[str, Any]) -> set[tuple[Any, ...]]:
    """Of checkpoints: what does not depend on when a cycle ran."""
    names = ("cluster", "job_id", "checkpoint_id", "outcome", "trigger_time", "end_to_end_ms")
    return {tuple(row[name] for name in names) for row in seen["checkpoints"]}


@pytest.mark.long
def test_an_installation_on_sqlite_is_there_again_with_what_came_while_it_was_saved(
    tmp_path: Path,
) -> None:
    lived = Installation(home_with_database(tmp_path / "home"))
    here = Reader(lived, tmp_path / "saved")
    lived.story("live")
    by_program = saved_by_program(here) if shutil.which("sqlite3") else None
    if by_program is None:
        here.folder.mkdir(mode=0o700)
    here.types("import sqlite3")
    assert by_program in (None, content(here.folder / "weir.sqlite3"))
    on = lived.story("take=1.20.5/B:more", "see=on")["on"]
    here.types("tar --create")
    shutil.move(lived.home, lived.home.with_name("lost"))
    here.types("tar --extract")
    here.types("cp ")
    here.types("reencrypt_secrets")
    told = lived.story("see=after", "take=1.20.5/A:third", "see=later")
    after, later = told["after"], told["later"]
    assert after["fleet"] == on["fleet"] and "more" in after["fleet"]
    assert facts(after) == facts(on)
    assert after["secret"] and after["signs_in"] and after["restarts"] == 0
    assert "third" in later["fleet"] and later["restarts"] == 0


def saved_by_program(here: Reader) -> list[str]:
    here.types(".backup BACKUP")
    file = here.folder / "weir.sqlite3"
    assert here.folder.stat().st_mode & 0o077 == 0
    return content(file.rename(file.with_name("by-program.sqlite3")))


def content(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())


@pytest.mark.long
@pytest.mark.cluster
def test_an_installation_on_postgresql_is_there_again_in_another_database(
    server: Any, tmp_path: Path
) -> None:
    lived = Installation(tmp_path / "home", postgresql.migrated_database(server, "lived_in"))
    server.psql("CREATE DATABASE restored;")
    restored = Installation(lived.home, lived.database_url.replace("/lived_in?", "/restored?"))
    here = Reader(lived, tmp_path / "saved")
    lived.home.mkdir()
    on = lived.story("live", "see=on")["on"]
    here.types("pg_dump")
    here.types("tar --create")
    shutil.move(lived.home, lived.home.with_name("lost"))
    here.installation = restored
    here.types("tar --extract")
    here.types("pg_restore")
    here.types("reencrypt_secrets")
    after = restored.story("see=after")["after"]
    assert after["fleet"] == on["fleet"] and "case" in after["fleet"]
    assert facts(after) == facts(on)
    assert after["secret"] and after["signs_in"] and after["restarts"] == 0
