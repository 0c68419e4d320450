"""An SQLite file that is damaged: commands, the start and pages name the file and a way out, which
works.
"""

import http.client
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.installation import Installation
from tests.migrated import home_with_database
from tests.selections import mostly_long
from tests.webapp.documentation.commands import BLOCK
from tests.webapp.launch.test_front import serving
from webapp.site.documentation.places import PAGES

PAGE_BYTES = 4096


@pytest.fixture
def damaged(tmp_path: Path) -> Installation:
    """A home whose database is overwritten from its first page on, as by a disk that fails."""
    home = home_with_database(tmp_path / "home")
    with (home / "weir.sqlite3").open("r+b") as file:
        file.write(b"\xa5" * 4 * PAGE_BYTES)
    return Installation(home)


@pytest.mark.parametrize(
    "words",
    mostly_long(
        [("-m", "webapp.launch.prepare"), ("manage.py", "ensure_admin"), ("manage.py", "migrate")],
        ids=["start", "command", "migrate"],
    ),
)
def test_what_is_started_says_which_file_is_damaged_and_what_to_do(
    damaged: Installation, words: tuple[str, ...]
) -> None:
    done = damaged.run(*words)
    assert done.returncode == 1
    assert (
        str(damaged.home / "weir.sqlite3") in done.stderr
        and "run_pipeline --from-start" in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_a_page_says_so_without_telling_strangers_where_the_file_lies(tmp_path: Path) -> None:
    home = home_with_database(tmp_path / "home")
    with serving(tmp_path) as (port, _):
        with (home / "weir.sqlite3").open("r+b") as file:
            file.write(b"\xa5" * (home / "weir.sqlite3").stat().st_size)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/", headers={"Cookie": "weir_session=" + "a" * 32})
            answer = connection.getresponse()
            page = answer.read().decode()
    assert answer.status == 503
    assert "weir.sqlite3" in page and str(home) not in page


def tables(file: Path) -> set[str]:
    """Raises where the file is damaged."""
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {name for (name,) in database.execute("SELECT name FROM sqlite_master")}


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="there is no sqlite3")
def test_what_the_documentation_says_recovers_what_can_be_read(tmp_path: Path) -> None:
    here = Installation(home_with_database(tmp_path / "home"))
    file = here.home / "weir.sqlite3"
    before = tables(file)
    content = bytearray(file.read_bytes())
    content[-PAGE_BYTES:] = b"\xa5" * PAGE_BYTES
    file.write_bytes(content)
    text = (PAGES / "operation.md").read_text()
    section = text.partition("## If the database file is damaged")[2].partition("\n## ")[0]
    for block in BLOCK.findall(section):  # mkdir and mv, then sqlite3
        subprocess.run(["bash", "-c", block], env=here.variables, check=True, capture_output=True)
    assert before <= tables(file)
    assert (here.home / "damaged" / "weir.sqlite3").read_bytes() == content
