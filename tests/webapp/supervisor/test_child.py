import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from webapp.config.environment import PROJECT_DIR
from webapp.supervisor.child import Child, NotReady

RunPython = Callable[..., Child]


def until(condition: Callable[[], object], within_s: float = 15) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def logged(child: Child) -> str:
    """Between renaming the full file and making the next one there is none."""
    try:
        return child.log_path.read_text()
    except FileNotFoundError:
        return ""


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_its_output_is_kept_in_its_log(run_python: RunPython) -> None:
    child = run_python("print('hello'); import time; time.sleep(60)")
    until(lambda: "hello" in child.log_path.read_text())


def test_a_child_that_dies_is_started_again_and_said_so(run_python: RunPython, capsys: pytest.CaptureFixture[str]) -> None:
    child = run_python("import os; print('pid', os.getpid()); import time; time.sleep(60)")
    until(lambda: child.log_path.read_text().count("pid") == 1)
    assert child.pid
    os.kill(child.pid, signal.SIGKILL)
    until(lambda: child.log_path.read_text().count("pid") == 2)
    assert "child ended unexpectedly (signal SIGKILL); starting it again in 1 s" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="states of processes are read from /proc")
def test_a_child_that_is_stopped_is_replaced(run_python: RunPython, capsys: pytest.CaptureFixture[str]) -> None:
    child = run_python("import os; print('pid', os.getpid()); import time; time.sleep(60)", stopped_at_most_s=0.2)
    until(lambda: child.log_path.read_text().count("pid") == 1)
    assert child.pid
    os.kill(child.pid, signal.SIGSTOP)
    until(lambda: child.log_path.read_text().count("pid") == 2)
    assert "is stopped and does nothing" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the guard alone ends what is left")
def test_it_ends_with_its_supervisor_also_where_no_guard_is_left(tmp_path: Path) -> None:
    supervisor = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from webapp.supervisor.child import Child, Program\n"
        "child = Child(Program('child', ['sleep', '60'], dict(os.environ), Path(sys.argv[1])), Path(sys.argv[1]))\n"
        "child.start()\n"
        "while not child.pid or Path(f'/proc/{child.pid}/comm').read_text() != 'sleep\\n':\n"
        "    time.sleep(0.01)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", supervisor, str(tmp_path)], cwd=PROJECT_DIR, stdout=subprocess.PIPE) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        process.kill()
    until(lambda: not lives(pid))


def test_pauses_between_starts_grow(run_python: RunPython, capsys: pytest.CaptureFixture[str]) -> None:
    child = run_python("raise SystemExit(3)")
    until(lambda: child.restarts >= 2)
    said = capsys.readouterr().out
    assert "(exit code 3); starting it again in 1 s" in said
    assert "starting it again in 2 s" in said


def test_a_command_that_does_not_exist_is_said_and_tried_again(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    from webapp.supervisor.child import Program

    child = Child(Program("absent", ["/no/such/program"], {}, tmp_path), tmp_path)
    child.start()
    said: list[str] = []
    until(lambda: said.append(capsys.readouterr().out) or "starting it again" in "".join(said))
    child.stop()
    assert "/no/such/program cannot be started: No such file or directory" in logged(child)


def test_stopping_asks_first(run_python: RunPython) -> None:
    child = run_python(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('in good order'), sys.exit()))\n"
        "print('up')\n"
        "time.sleep(60)"
    )
    until(lambda: "up" in child.log_path.read_text())
    child.stop()
    assert "in good order" in child.log_path.read_text()


def test_a_child_that_does_not_listen_is_killed_in_bounded_time_with_its_group(run_python: RunPython) -> None:
    child = run_python(
        "import signal, subprocess, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('grandchild', subprocess.Popen(['sleep', '60']).pid, flush=True)\n"
        "time.sleep(60)",
        stop_within_s=0.3,
    )
    until(lambda: "grandchild" in child.log_path.read_text())
    grandchild = int(child.log_path.read_text().split()[-1])
    began = time.monotonic()
    child.stop()
    assert time.monotonic() - began < 5
    until(lambda: not lives(grandchild))


def test_it_is_not_started_again_after_a_stop(run_python: RunPython) -> None:
    child = run_python("import time; time.sleep(60)")
    until(lambda: child.pid)
    pid = child.pid
    child.stop()
    time.sleep(1.2)
    assert child.pid == pid
    assert child.restarts == 0


def test_a_program_that_never_serves_is_reported_with_its_log(run_python: RunPython, never: threading.Event) -> None:
    child = run_python("import time; time.sleep(60)", ready=lambda: False, ready_within_s=0.2)
    with pytest.raises(NotReady, match=r"child is not ready after 0 s: see .*child\.log"):
        child.wait_ready(never)


def test_logs_are_rotated(run_python: RunPython, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.supervisor.child.LOG_BYTES", 1000)
    child = run_python("for n in range(100): print('line', n, 'x' * 50)\nimport time; time.sleep(60)")
    until(lambda: child.log_path.with_name("child.log.3").exists())
    until(lambda: "line 99 " in logged(child))
    assert child.log_path.stat().st_size <= 1000
    assert not child.log_path.with_name("child.log.4").exists()
