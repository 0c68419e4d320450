import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.lab.marked_processes import VARIABLE, processes, sweep

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="finds processes through /proc"
)

ORPHAN = (
    "import subprocess, sys; print(subprocess.Popen(['sleep', '60'], start_new_session=True, "
    "stdout=-3).pid)"
)
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', "
    "flush=True); time.sleep(60)"
)


@pytest.fixture
def mark() -> Iterator[str]:
    mark = secrets.token_hex(8)
    yield mark
    sweep(mark, grace_s=0)


def marked(mark: str) -> dict[str, str]:
    return {**os.environ, VARIABLE: mark}


def test_an_orphan_in_a_session_of_its_own_is_found(mark: str) -> None:
    orphan = int(subprocess.check_output([sys.executable, "-c", ORPHAN], env=marked(mark)))
    until = time.monotonic() + 5
    # Between fork and the end of exec a process shows no environment.
    while not processes(mark) and time.monotonic() < until:
        time.sleep(0.01)
    assert processes(mark) == [orphan]


def test_only_processes_with_this_mark_are_ended(mark: str) -> None:
    with subprocess.Popen(["sleep", "60"], env=marked("another")) as other:
        subprocess.check_output([sys.executable, "-c", ORPHAN], env=marked(mark))
        assert sweep(mark, grace_s=1) == 1
        assert other.poll() is None
        other.kill()


def test_one_that_ignores_the_request_is_killed(mark: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN], env=marked(mark), stdout=subprocess.PIPE
    ) as stubborn:
        assert stubborn.stdout and stubborn.stdout.readline() == b"up\n"
        sweep_began = time.monotonic()
        sweep(mark, grace_s=0.3)
        assert time.monotonic() - sweep_began < 5
        assert stubborn.wait(5) == -9


def test_the_guard_ends_what_is_left_when_its_supervisor_is_killed(mark: str) -> None:
    supervisor = (
        "import os, subprocess, sys, time\n"
        "guard = subprocess.Popen([sys.executable, '-m', 'tests.lab.guard', sys.argv[1], '1'], "
        "stdin=subprocess.PIPE)\n"
        f"env = {{**os.environ, '{VARIABLE}': sys.argv[1]}}\n"
        "subprocess.Popen(['sleep', '60'], env=env, start_new_session=True)\n"
        "print('up', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", supervisor, mark], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stdout.readline() == b"up\n"
        assert len(processes(mark)) == 1
        process.kill()
    deadline = time.monotonic() + 10
    while processes(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes(mark) == []
