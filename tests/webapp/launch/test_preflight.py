"""The checks before a start, run as make runs them: a process, its exit code and what it says."""

import ast
import fcntl
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import Home

SCRIPT = PROJECT_DIR / "webapp" / "launch" / "preflight.py"


def preflight(*checks: str, **variables: str) -> tuple[int, list[str]]:
    environment = {**os.environ, **variables}
    run = subprocess.run(
        [sys.executable, SCRIPT, *checks],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stderr.splitlines()


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_any_python_3_can_read_it() -> None:
    source = SCRIPT.read_text()
    ast.parse(source, feature_version=(3, 4))
    assert not any(isinstance(node, ast.JoinedStr) for node in ast.walk(ast.parse(source)))


def test_a_fit_machine_passes_in_silence(tmp_path: Path) -> None:
    assert preflight("python", "venv", "java", "home", "disk", WEIR_HOME=str(tmp_path)) == (0, [])


def test_a_too_old_python_is_one_sentence(tmp_path: Path) -> None:
    old = (
        "import runpy, sys; sys.version_info = (3, 9, 2); sys.argv = ['p', 'python']; "
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    run = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("weir: Weir needs Python 3.11 or newer, and ")
    assert run.stderr.count("\n") == 1


def test_missing_java_is_one_sentence(tmp_path: Path) -> None:
    code, said = preflight("java", PATH=str(tmp_path), JAVA_HOME="")
    assert code == 1
    assert said == [
        (
            "weir: Weir needs Java 17 or newer for Spark, and found none (java): install one, or set "
            "JAVA_HOME."
        )
    ]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('openjdk version "11.0.2" 2019', "is 11"),
        ('java version "1.8.0_412"', "is 8"),
        ("what?", "is of an unknown version"),
    ],
)
def test_an_old_java_is_named(tmp_path: Path, answer: str, found: str) -> None:
    program(tmp_path / "bin", "java", f"echo '{answer}' >&2")
    code, said = preflight("java", JAVA_HOME=str(tmp_path))
    assert code == 1
    assert len(said) == 1
    assert found in said[0]


def test_a_newer_java_is_fine(tmp_path: Path) -> None:
    program(tmp_path / "bin", "java", "echo 'openjdk version \"25-ea\" 2025' >&2")
    assert preflight("java", JAVA_HOME=str(tmp_path)) == (0, [])


def test_java_home_is_preferred_over_the_path(tmp_path: Path) -> None:
    code, said = preflight("java", JAVA_HOME=str(tmp_path / "nothing"))
    assert code == 1
    assert str(tmp_path / "nothing" / "bin" / "java") in said[0]


def test_no_java_is_asked_for_where_spark_is_elsewhere(tmp_path: Path) -> None:
    assert preflight("java", PATH=str(tmp_path), JAVA_HOME="", SPARK_REMOTE="sc://spark:15002") == (
        0,
        [],
    )


def test_a_busy_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        code, said = preflight("bind", WEIR_BIND=bind)
    assert code == 1
    assert len(said) == 1
    assert said[0].startswith(f"weir: Weir cannot listen on {bind} (Address already in use): ")
    assert said[0].endswith(", or choose another address with WEIR_BIND=HOST:PORT.")


@pytest.mark.skipif(sys.platform != "linux", reason="who listens is read from /proc")
def test_a_busy_port_is_told_with_the_process_that_holds_it_and_no_secret_of_its_command() -> None:
    listening = (
        "import socket, time; taken = socket.create_server(('127.0.0.1', 0)); "
        "print(taken.getsockname()[1], flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listening, "--password", "s3cret"], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout
        _code, said = preflight("bind", WEIR_BIND=f"127.0.0.1:{int(holder.stdout.readline())}")
        holder.kill()
    assert (
        f"process {holder.pid} ({sys.executable}) listens there: end it with `kill {holder.pid}`"
        in said[0]
    )
    assert "s3cret" not in said[0]


@pytest.mark.parametrize(
    "bind", ["8000", "localhost", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:http"]
)
def test_nonsense_as_address_is_refused(bind: str) -> None:
    code, said = preflight("bind", WEIR_BIND=bind)
    assert code == 1
    assert "not HOST:PORT" in said[0]


def test_a_home_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = preflight("home", WEIR_HOME=str(tmp_path / "file" / "home"))
    assert code == 1
    assert len(said) == 1
    assert "cannot be written (Not a directory)" in said[0]


def test_a_running_instance_is_named(tmp_path: Path) -> None:
    with Home(tmp_path).lock("process 12, http://127.0.0.1:8000/"):
        code, said = preflight("home", WEIR_HOME=str(tmp_path))
    assert code == 1
    assert said == [
        f"weir: Weir already runs in WEIR_HOME {tmp_path} (process 12, http://127.0.0.1:8000/): "
        "stop it first, or set another WEIR_HOME and WEIR_BIND."
    ]


def test_looking_does_not_hold_the_home(tmp_path: Path) -> None:
    Home(tmp_path).lock("process 12").close()
    assert preflight("home", WEIR_HOME=str(tmp_path)) == (0, [])
    with (tmp_path / "instance.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    code, said = preflight("java", "bind", PATH=str(tmp_path), JAVA_HOME="", WEIR_BIND="nonsense")
    assert code == 1
    assert len(said) == 2


def test_an_unknown_check_is_refused() -> None:
    assert preflight("weather")[0] == 2
