"""Long commands: their output kept within bounds, their processes never left behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.webapp.pipeline.site import is_running, wait_for
from webapp.config.environment import PROJECT_DIR
from webapp.work import subprocesses
from webapp.work.texts import tail

PYTHON = sys.executable


def run(code: str, tmp_path: Path, timeout_s: float = 60) -> tuple[int, list[str]]:
    lines: list[str] = []
    return subprocesses.run([PYTHON, "-c", code], os.environ, tmp_path / "run.log", timeout_s, lines.append, lines.append), lines


def test_output_and_exit_code_come_back(tmp_path: Path) -> None:
    code, lines = run("import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)", tmp_path)
    assert code == 3
    assert sorted(lines) == ["one", "two"]
    assert (tmp_path / "run.log").read_text().split() == ["one", "two"] or set(lines) == {"one", "two"}


def test_a_flood_of_output_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocesses, "LOG_BYTES", 1_000)
    code, lines = run("for n in range(10_000): print('x' * 50)", tmp_path)
    assert code == 0
    assert len(lines) == 10_000
    assert (tmp_path / "run.log").stat().st_size < 2_000


def test_a_time_out_ends_the_command_and_all_it_started(tmp_path: Path) -> None:
    child = "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    note = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid)); time.sleep(600)"
    with pytest.raises(subprocesses.TimedOut, match="did not end within"):
        run(child + note, tmp_path, timeout_s=5)
    grandchild = int((tmp_path / "pid").read_text())
    wait_for(lambda: not is_running(grandchild), "the end of the grandchild")


def test_a_command_on_the_leash_dies_with_whoever_started_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    started = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    command = f"leashed([sys.executable, '-c', {started!r}])"
    starter = f"import subprocess, sys, time; from ingest.parent_death import leashed; subprocess.Popen({command}); time.sleep(600)"
    process = subprocess.Popen([PYTHON, "-c", starter], cwd=PROJECT_DIR)
    wait_for(lambda: note.exists() and note.read_text(), "the command")
    pid = int(note.read_text())
    process.kill()
    process.wait()
    wait_for(lambda: not is_running(pid), "the end of the command")


def test_the_end_of_a_log_starts_at_a_line_and_is_valid_text() -> None:
    text = "\n".join(f"line {n} ü" for n in range(100_000))
    end = tail(text, 64 * 1024)
    assert len(end.encode()) <= 64 * 1024
    assert end.startswith("line ")
    assert end.endswith("line 99999 ü")
    assert tail("ü" * 10, 3) == "ü"


def test_time_is_not_wasted_on_a_command_that_ends_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    run("pass", tmp_path)
    assert time.monotonic() - began < 20
