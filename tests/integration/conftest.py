import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from tests.integration.running import RunningWeir, until
from webapp.config.environment import PROJECT_DIR


@dataclass
class Story:
    """What happened to one instance from its first start to the end of its second run."""

    has_demo: bool
    first_up_after_s: float = 0
    sign_in: tuple[str, str] = ("", "")
    let_in: bool = False
    wrong_password_let_in: bool = True
    fleet_page: str = ""
    twin: tuple[int, str] = (0, "")
    first_output: str = ""
    first_exit: int = -1
    left_after_first: dict[int, str] = field(default_factory=dict)
    demo_clusters: dict[str, bool] = field(default_factory=dict)
    """By name: whether its last reading succeeded."""
    second_sign_in: tuple[str, str] = ("", "")
    second_demo_clusters: dict[str, bool] = field(default_factory=dict)
    restarted_web: bool = False
    programs_started: int = 0
    """How often the first run started each of its programs, at most."""
    left_after_kill: dict[int, str] = field(default_factory=dict)
    logs: str = ""


@pytest.fixture(
    scope="session",
    params=["without demo", pytest.param("with demo", marks=pytest.mark.long)],
)
def story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    home = tmp_path_factory.mktemp("whole") / "home"
    story = Story(has_demo=request.param == "with demo")
    with RunningWeir(home, WEIR_DEMO=str(story.has_demo).lower()) as weir:
        _first_run(weir, story)
        story.first_exit = weir.interrupt()
        story.left_after_first = weir.processes()
        story.first_output = weir.output
    starts = Counter(
        re.findall(r"spawned: .(\S+).", (home / "logs" / "supervisord.log").read_text())
    )
    story.programs_started = max(starts.values())
    with RunningWeir(home, WEIR_DEMO=str(story.has_demo).lower()) as weir:
        _second_run(weir, story)
        os.kill(weir.process.pid, signal.SIGKILL)
        weir.process.wait()
        deadline = time.monotonic() + 20
        while (left := weir.processes()) and time.monotonic() < deadline:
            time.sleep(0.2)
        story.left_after_kill = left
    story.logs = "\n".join(
        log.read_text(errors="replace") for log in (home / "logs").rglob("*.log*")
    )
    yield story


def _first_run(weir: RunningWeir, story: Story) -> None:
    weir.wait_for_line(r"Dashboard +http://")
    story.sign_in = weir.printed_sign_in()
    story.wrong_password_let_in = weir.sign_in("admin", "not the password")
    story.let_in = weir.sign_in(*story.sign_in)
    twin = [sys.executable, "-m", "webapp.launch"]
    run = subprocess.run(
        twin,
        env=weir.variables,
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    story.twin = (run.returncode, run.stderr.strip())
    story.first_up_after_s = weir.wait_up(1200)
    if story.has_demo:
        until(lambda: "declined" in weir.page("/")[2], 300, "a cause on the fleet page", every_s=2)
        until(lambda: all(_demo_clusters(weir).values()), 300, "an answer of each demo cluster")
    story.fleet_page = weir.page("/")[2]
    story.demo_clusters = _demo_clusters(weir)


def _second_run(weir: RunningWeir, story: Story) -> None:
    weir.wait_for_line(r"Dashboard +http://")
    weir.wait_up()
    story.second_sign_in = weir.printed_sign_in()
    story.second_demo_clusters = _demo_clusters(weir)
    killed = weir.pid_of("webapp.launch.web ")
    assert killed
    os.kill(killed, signal.SIGKILL)
    until(lambda: weir.pid_of("webapp.launch.web ") not in (None, killed), 60, "another web server")
    until(lambda: _answers(weir), 120, "the web server's return")
    story.restarted_web = True


def _demo_clusters(weir: RunningWeir) -> dict[str, bool]:
    query = "SELECT name, last_success_at IS NOT NULL FROM fleet_cluster WHERE name LIKE 'demo-%'"
    with closing(sqlite3.connect(weir.home / "weir.sqlite3")) as database:
        return {name: bool(seen) for name, seen in database.execute(query)}


def _answers(weir: RunningWeir) -> bool:
    try:
        return weir.page("/healthz")[0] == 200
    except OSError:
        return False
