"""The real fork server, which imports all that workers do: what it forks are processes as any other."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from webapp.config.environment import PROJECT_DIR
from webapp.supervisor.child import Child, Program
from webapp.supervisor.forks import ForkServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each program is started anew")

PART = """
import os, sys, time
from pathlib import Path
print(sys.argv, "celery.apps.worker" in sys.modules, os.getsid(0) == os.getpid(), Path("/proc/self/comm").read_text().strip(), flush=True)
if sys.argv[1:] == ["ends"]:
    sys.exit(7)
time.sleep(600)
"""


def until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forks")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ForkServer]:
    (folder / "part_of_tests.py").write_text(PART)
    paths = os.pathsep.join([str(PROJECT_DIR), str(folder)])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "DJANGO_"))}
    variables = {**kept, "PYTHONPATH": paths, "DJANGO_SETTINGS_MODULE": "webapp.config.settings", "WEIR_HOME": str(folder / "home")}
    server = ForkServer(PROJECT_DIR, variables, folder / "server.log")
    yield server
    server.close()


def part(server: ForkServer, *words: str) -> Program:
    return Program("worker-of-tests", [sys.executable, "-m", "part_of_tests", *words], {}, PROJECT_DIR, start=server.start)


def test_a_part_has_its_words_a_session_and_a_name_of_its_own_and_all_imports(server: ForkServer, folder: Path) -> None:
    process = server.start(part(server, "ends"))
    assert process.stdout
    said = process.stdout.read().decode()
    assert process.wait() == 7
    assert said.endswith("'ends'] True True worker-of-tests\n"), said


def test_a_part_that_is_killed_is_started_again(server: ForkServer, tmp_path: Path) -> None:
    child = Child(part(server), tmp_path)
    child.start()
    try:
        until(lambda: child.log_path.read_text().count("worker-of-tests") == 1)
        assert child.pid
        os.kill(child.pid, signal.SIGKILL)
        until(lambda: child.log_path.read_text().count("worker-of-tests") == 2)
    finally:
        child.stop()


def test_parts_die_with_the_server_and_come_back_with_another(server: ForkServer, tmp_path: Path) -> None:
    child = Child(part(server), tmp_path)
    child.start()
    try:
        until(lambda: child.log_path.read_text().count("worker-of-tests") == 1)
        assert child.pid
        parent = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        until(lambda: child.log_path.read_text().count("worker-of-tests") == 2)
    finally:
        child.stop()


def test_stopping_asks_first_and_is_told_of_the_end(server: ForkServer, tmp_path: Path) -> None:
    child = Child(part(server), tmp_path)
    child.start()
    until(lambda: child.log_path.read_text().count("worker-of-tests") == 1)
    pid = child.pid
    child.stop()
    assert not Path(f"/proc/{pid}").exists()
