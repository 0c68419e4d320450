"""What holds on SQLite holds on PostgreSQL: the same tests there, and races of real processes on both."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pgserver
import pytest

from webapp.config.environment import PROJECT_DIR

PROCESSES, ROWS = 4, 60
START_IN_S = 8


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = pgserver.get_server(tmp_path_factory.mktemp("postgresql"), cleanup_mode="delete")
    yield str(server.get_uri())
    server.cleanup()


def environment(home: Path, database_url: str) -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "DJANGO_"))}
    return {**found, "WEIR_HOME": str(home), "WEIR_DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_each_row_is_claimed_by_exactly_one_of_several_processes(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite://{tmp_path}/race.sqlite3" if kind == "sqlite" else request.getfixturevalue("postgresql")
    variables = environment(tmp_path, url)
    make = (
        "import django; django.setup()\n"
        "from django.core.management import call_command; call_command('migrate', verbosity=0)\n"
        "from django.utils import timezone; from webapp.pipeline.models import DueWork\n"
        f"DueWork.objects.ensure({{f'collect/{{n}}': 3600 for n in range({ROWS})}}, timezone.now())"
    )
    subprocess.run([sys.executable, "-c", make], env=variables, cwd=PROJECT_DIR, check=True)
    start_at = str(time.time() + START_IN_S)
    command = [sys.executable, "-m", "tests.webapp.pipeline.claim_race", start_at]
    running = [subprocess.Popen(command, env=variables, cwd=PROJECT_DIR, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    claimed = [key for process in running for key in process.communicate(timeout=240)[0].split()]
    assert [process.returncode for process in running] == [0] * PROCESSES
    assert sorted(claimed) == sorted(f"collect/{n}" for n in range(ROWS))


def test_the_loader_leases_and_retention_hold_on_postgresql(postgresql: str, tmp_path: Path) -> None:
    names = ("test_loader.py", "test_due_work.py", "test_retention.py", "test_audit.py")
    tests = [f"tests/webapp/pipeline/{name}" for name in names] + ["tests/webapp/fleet/test_status.py", "tests/webapp/checkpoints"]
    tests += [f"tests/webapp/storage/{name}" for name in ("test_loading.py", "test_known_jobs.py", "test_aging.py", "test_auditing.py")]
    run_there(tests, postgresql, tmp_path)


def test_what_attackers_send_breaks_nothing_on_postgresql(postgresql: str, tmp_path: Path) -> None:
    run_there(
        [
            "tests/webapp/test_cursors.py",
            "tests/webapp/lib/test_keysets.py",
            "tests/webapp/api/test_errors.py",
            "tests/webapp/test_hostile_texts.py",
        ],
        postgresql,
        tmp_path,
    )


def run_there(tests: list[str], database_url: str, folder: Path) -> None:
    variables = environment(folder, database_url)
    del variables["DJANGO_SETTINGS_MODULE"]
    # A folder of its own: where the tests that run beside it keep theirs, pytest would shut out the user of their PostgreSQL.
    command = [sys.executable, "-m", "pytest", f"--basetemp={folder / 'tests'}", *tests]
    done = subprocess.run(command, env=variables, cwd=PROJECT_DIR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
