"""Attempts as children of a process that has imported what they need: as good as processes started anew."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.webapp.pipeline.site import is_running, kill, wait_for
from webapp.config.environment import PROJECT_DIR
from webapp.work import forked_spark, subprocesses

MODULE = "tests.webapp.work.talking_spark"


def run(tmp_path: Path, *arguments: str, timeout_s: float = 60, **variables: str) -> tuple[int, list[str]]:
    lines: list[str] = []
    environment = {**os.environ, **variables}
    code = forked_spark.run(MODULE, arguments, environment, tmp_path / "run.log", timeout_s, lines.append, lines.append)
    return code, lines


def tell(tmp_path: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    code, lines = run(tmp_path, "tell", *arguments, **variables)
    assert code == 0, lines
    told: dict[str, Any] = json.loads(next(line for line in lines if line.startswith("{")))
    return told


def test_an_attempt_gets_its_arguments_its_environment_and_nothing_else(tmp_path: Path) -> None:
    tell(tmp_path, MARK="of the one before", ANOTHER="variable")
    told = tell(tmp_path, "one", "two words", MARK="its own")
    assert told["arguments"] == ["one", "two words"]
    assert told["mark"] == "its own"
    assert told["variables"] == len({**os.environ, "MARK": ""})
    assert told["input"] == ""


def test_what_it_says_is_told_line_by_line_and_kept(tmp_path: Path) -> None:
    _, lines = run(tmp_path, "tell")
    assert "an aside" in lines
    assert "an aside" in (tmp_path / "run.log").read_text()


def test_attempts_are_processes_of_their_own_whose_parent_has_imported_spark(tmp_path: Path) -> None:
    one, other = tell(tmp_path), tell(tmp_path)
    assert one["pid"] != other["pid"]
    assert one["parent"] == other["parent"] != os.getpid()
    assert one["pyspark"] and other["pyspark"]


@pytest.mark.parametrize(("words", "code", "last"), [(("exit", "7"), 7, None), (("raise",), 1, "ValueError: what went wrong")])
def test_exit_codes_and_tracebacks_are_those_of_a_process(tmp_path: Path, words: tuple[str, ...], code: int, last: str | None) -> None:
    ended, lines = run(tmp_path, *words)
    assert ended == code
    assert last is None or lines[-1] == last


def test_a_module_that_is_not_there_is_said_and_costs_nobody_else_anything(tmp_path: Path) -> None:
    lines: list[str] = []
    code = forked_spark.run("tests.no_such_job", [], os.environ, tmp_path / "run.log", 60, lines.append, lines.append)
    assert code == 1
    assert any("no_such_job" in line for line in lines)


def test_the_jobs_themselves_say_what_they_would_say_alone(tmp_path: Path) -> None:
    lines: list[str] = []
    code = forked_spark.run("spark_jobs", ["no-such-job"], os.environ, tmp_path / "run.log", 60, lines.append, lines.append)
    assert code == 2
    assert lines[0].startswith("usage: python -m spark_jobs")


def test_what_an_attempt_leaves_running_ends_with_it(tmp_path: Path) -> None:
    _, lines = run(tmp_path, "leave")
    wait_for(lambda: not is_running(int(lines[0])), "the end of what it left", 30)


def test_a_time_out_ends_the_attempt_and_all_it_started_and_the_next_one_runs(tmp_path: Path) -> None:
    lines: list[str] = []
    with pytest.raises(subprocesses.TimedOut, match="did not end within"):
        forked_spark.run(MODULE, ["hang"], os.environ, tmp_path / "run.log", 5, lines.append, lines.append)
    attempt, parent, left = map(int, lines[0].split())
    wait_for(lambda: not is_running(attempt) and not is_running(left), "the end of both", 30)
    assert tell(tmp_path)["parent"] == parent


def test_a_parent_that_was_killed_while_nobody_needed_it_is_followed_by_another(tmp_path: Path) -> None:
    first = tell(tmp_path)["parent"]
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not is_running(first), "its end", 30)
    assert tell(tmp_path)["parent"] != first


def test_an_attempt_whose_parent_is_killed_ends_and_is_said_to_have_been_killed(tmp_path: Path) -> None:
    seen: list[int] = []

    def kill_parent(line: str) -> None:
        seen.extend(map(int, line.split()))
        os.kill(seen[1], signal.SIGKILL)

    code = forked_spark.run(MODULE, ["hang"], os.environ, tmp_path / "run.log", 60, kill_parent, lambda line: None)
    assert code == -signal.SIGKILL
    wait_for(lambda: not is_running(seen[0]) and not is_running(seen[2]), "the end of the attempt and of what it started", 30)


def test_a_killed_worker_takes_the_parent_and_the_attempt_along(tmp_path: Path) -> None:
    note = tmp_path / "lines"
    starter = f"""if True:
        import os, pathlib
        from webapp.work import forked_spark
        note = pathlib.Path({str(note)!r})
        forked_spark.run({MODULE!r}, ["hang"], os.environ, note.with_name("run.log"), 600, note.write_text, print)
    """
    worker = subprocess.Popen([sys.executable, "-c", starter], cwd=PROJECT_DIR, start_new_session=True)
    wait_for(lambda: note.exists() and note.read_text(), "the attempt")
    attempt, parent, left = map(int, note.read_text().split())
    kill(worker)
    os.kill(left, signal.SIGKILL)
    wait_for(lambda: not is_running(attempt) and not is_running(parent), "the end of both", 30)
