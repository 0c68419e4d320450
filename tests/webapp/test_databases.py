"""What holds on SQLite holds on PostgreSQL: the same tests there, and races of real processes on
both.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pgserver import PostgresServer

from tests import postgresql as installed
from tests.migrated import migrated_database
from tests.selections import mostly_long
from webapp.config.environment import PROJECT_DIR

PROCESSES, ROWS = 4, 60
TEMPLATE = "migrated"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with installed.postgresql() as started:
        yield started


@pytest.fixture(scope="module")
def postgresql(server: PostgresServer) -> str:
    installed.migrated_database(server, TEMPLATE)
    return installed.migrated_database(server, "weir")


def environment(home: Path, database_url: str) -> dict[str, str]:
    found = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WEIR_", "DJANGO_"))
    }
    return {
        **found,
        "WEIR_HOME": str(home),
        "WEIR_DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
    }


@pytest.mark.parametrize("kind", mostly_long(["postgresql", "sqlite"]))
def test_each_row_is_claimed_by_exactly_one_of_several_processes(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    race = shutil.copy(migrated_database(), tmp_path / "race.sqlite3")
    url = f"sqlite://{race}" if kind == "sqlite" else request.getfixturevalue("postgresql")
    variables = environment(tmp_path, url)
    make = (
        "import django; django.setup()\n"
        "from django.utils import timezone; from webapp.work.models import DueWork\n"
        f"DueWork.objects.ensure({{f'collect/{{n}}': 3600 for n in range({ROWS})}}, timezone.now())"
    )
    subprocess.run([sys.executable, "-c", make], env=variables, cwd=PROJECT_DIR, check=True)
    command = [sys.executable, "-m", "tests.webapp.work.claim_race"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [
        subprocess.Popen(command, env=variables, cwd=PROJECT_DIR, **pipes) for _ in range(PROCESSES)
    ]
    assert all(process.stdout and process.stdout.readline() == "ready\n" for process in running)
    for process in running:
        print(file=process.stdin, flush=True)
    claimed = [key for process in running for key in process.communicate(timeout=240)[0].split()]
    assert [process.returncode for process in running] == [0] * PROCESSES
    assert sorted(claimed) == sorted(f"collect/{n}" for n in range(ROWS))


RESTARTED = """
import django; django.setup()
import psycopg, sys
from datetime import timedelta
from django.db import Error
from django.utils import timezone
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import perform

def restart():
    with psycopg.connect(sys.argv[1], autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      "WHERE pid <> pg_backend_pid() AND datname = current_database()")

def spark_then_load(lease, record):
    restart()
    with lease.writing():
        record.counts["loaded"] = True

def read(lease, record):
    restart()
    DueWork.objects.count()

for key, do in (("written/then", spark_then_load), ("read/then", read)):
    registry.register(registry.Work(key, registry.MAINTAIN_TASK, every=dict, do=do))
    DueWork.objects.ensure({key: 30}, timezone.now())
    try:
        perform(key)
    except Error:
        pass
print([(run.key, run.state, run.counts) for run in PipelineRun.objects.order_by("id")])
print([(row.key, row.failures, row.lease_until) for row in DueWork.objects.order_by("id")])
"""


def test_after_a_restart_work_goes_on_or_is_given_back_with_its_error(
    server: PostgresServer, tmp_path: Path
) -> None:
    """It costs at most what was just being written."""
    url = installed.migrated_database(server, "restarted")
    done = subprocess.run(
        [sys.executable, "-c", RESTARTED, url],
        env=environment(tmp_path, url),
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs, rows = map(eval, done.stdout.splitlines())
    assert runs == [("written/then", "done", {"loaded": True}), ("read/then", "failed", {})]
    assert rows == [("written/then", 0, None), ("read/then", 1, None)]


ALSO_ON_POSTGRESQL = (
    # The loader, leases and retention.
    *(
        "pipeline/test_loader.py",
        "pipeline/test_retention.py",
        "pipeline/test_host_days.py",
        "work/test_due_work.py",
        "fleet/pipeline_status/test_alarms.py",
    ),
    *("fleet/test_status.py", "checkpoints"),
    *(
        f"storage/{name}"
        for name in (
            "test_loading.py",
            "test_known_jobs.py",
            "test_audit_retention.py",
            "test_auditing.py",
        )
    ),
    # What attackers send.
    *("test_cursors.py", "lib/test_keysets.py", "api/test_errors.py", "test_hostile_texts.py"),
    # Queries are held to clusters by another condition there.
    "accounts/test_scope_of_people.py",
    # Many writers at once.
    "accounts/test_look_alikes.py::test_of_two_look_alikes_at_the_same_time_one_is_made",
    "accounts/test_users.py::test_two_administrators_who_demote_each_other_at_once_leave_one",
)


@pytest.mark.long
def test_rows_are_loaded_leased_and_kept_and_what_attackers_send_breaks_nothing_on_postgresql(
    postgresql: str, tmp_path: Path
) -> None:
    run_there([f"tests/webapp/{name}" for name in ALSO_ON_POSTGRESQL], postgresql, tmp_path)


def run_there(tests: list[str], database_url: str, folder: Path) -> None:
    variables = environment(folder, database_url)
    del variables["DJANGO_SETTINGS_MODULE"]
    variables["WEIR_TEST_TEMPLATE"] = TEMPLATE
    # A folder of its own: where the tests that run beside it keep theirs, pytest would shut out the
    # user of their PostgreSQL.
    command = [sys.executable, "-m", "pytest", f"--basetemp={folder / 'tests'}", *tests]
    done = subprocess.run(
        command, env=variables, cwd=PROJECT_DIR, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
