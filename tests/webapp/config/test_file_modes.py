"""What an instance keeps can be read by its user alone, however it was made, and nothing else is
touched.
"""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ingest.lake.store import Lake
from ingest.records import Observed, Skip
from tests.migrated import home_with_database
from tests.spark_jobs.rows import NOON
from webapp.config import file_modes
from webapp.config.environment import PROJECT_DIR


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def run(*command: str, home: Path, **variables: str) -> str:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WEIR_", "DJANGO_"))
    }
    environment = (
        kept
        | {"WEIR_HOME": str(home), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
        | variables
    )
    words = [sys.executable, *command]
    done = subprocess.run(
        words,
        env=environment,
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def open_ones(folder: Path, mask: int = 0o077) -> list[str]:
    return [
        str(path)
        for path in (folder, *folder.rglob("*"))
        if not path.is_symlink() and path.stat().st_mode & mask
    ]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


MAKES = """
import django; django.setup()
from django.db import connection
connection.cursor().execute("CREATE TABLE made (id)")
"""


def test_a_home_that_a_process_makes_is_closed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run("-c", MAKES, home=home)
    assert (home / "weir.sqlite3").exists() and (home / "secrets").exists()
    assert open_ones(home) == []


def test_a_home_that_was_open_is_closed_at_the_next_start(tmp_path: Path) -> None:
    home = home_with_database(tmp_path / "home")
    for name in ("logs", "lake/jobs", "runs", "plans", "reports"):
        (home / name).mkdir(parents=True)
    for name in ("weir.sqlite3-wal", "weir.sqlite3-shm", "logs/web.log", "redis.url"):
        (home / name).touch()
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    run("manage.py", "ensure_admin", home=home)
    assert open_ones(home) == [str(home / "lake/jobs")]  # in a folder that is closed


@pytest.mark.long
def test_a_group_may_be_let_in(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run("manage.py", "ensure_admin", home=home, WEIR_UMASK="027")
    assert mode(home / "weir.sqlite3") == 0o640
    home.chmod(0o755)
    run("manage.py", "ensure_admin", home=home, WEIR_UMASK="027")
    assert mode(home) == 0o750


def test_links_and_what_is_not_of_the_home_stay_as_they_are(tmp_path: Path) -> None:
    home, foreign = home_with_database(tmp_path / "home"), tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "file").touch()
    (home / "papers").mkdir()
    (home / "letter.txt").touch()
    for name, target in (
        ("lake", foreign),
        ("logs", foreign),
        ("instance.lock", foreign / "file"),
        ("runs", tmp_path / "nowhere"),
    ):
        (home / name).symlink_to(target)
    for path in (foreign, home / "papers"):
        path.chmod(0o755)
    for path in (foreign / "file", home / "letter.txt"):
        path.chmod(0o644)
    run("manage.py", "ensure_admin", home=home)
    assert [
        mode(path) for path in (foreign, foreign / "file", home / "papers", home / "letter.txt")
    ] == [0o755, 0o644, 0o755, 0o644]


@pytest.mark.parametrize("foreign", ["sticky", "no home", "its user's"])
def test_a_folder_that_is_no_home_stays_open(
    tmp_path: Path, foreign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if foreign != "no home":
        (tmp_path / "weir.sqlite3").touch()
    tmp_path.chmod(0o1777 if foreign == "sticky" else 0o755)
    if foreign == "its user's":
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
    before = mode(tmp_path)
    file_modes.restrict(tmp_path, 0o077, "")
    assert mode(tmp_path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_files_of_others_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "weir.sqlite3").touch(mode=0o644)
    os.chown(tmp_path / "weir.sqlite3", 65534, 65534)
    file_modes.restrict(tmp_path, 0o077, str(tmp_path / "weir.sqlite3"))
    assert mode(tmp_path / "weir.sqlite3") == 0o644


@pytest.mark.parametrize(
    "command",
    [
        [
            "-c",
            (
                "import webapp.config.celery as c; c.app.conf.broker_url; import os; "
                "print(oct(os.umask(0)))"
            ),
        ],
        ["-c", "import webapp.config.wsgi, os; print(oct(os.umask(0)))"],
    ],
)
def test_workers_and_the_web_server_write_for_themselves_alone(
    tmp_path: Path, command: Sequence[str]
) -> None:
    assert run(*command, home=tmp_path / "home").split()[-1] == "0o77"


@pytest.mark.long
def test_stages_by_hand_write_for_themselves_alone(tmp_path: Path) -> None:
    Lake(str(tmp_path / "lake")).append(
        [Observed("c", NOON, "rest", (Skip("/jobs", "timeout", "x"),))]
    )
    words = (
        "cycle",
        "--lake",
        str(tmp_path / "nothing"),
        "--run-dir",
        str(tmp_path / "runs/one"),
        "--attempt",
        "a-1",
    )
    run("-m", "spark_jobs", *words, home=tmp_path / "home")
    assert (tmp_path / "runs/one/manifest.json").exists()
    assert open_ones(tmp_path / "runs") == []
