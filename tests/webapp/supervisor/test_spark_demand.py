"""A job that needs Spark has it started, and who starts it knows how long it is used: with a real socket, and a server that is none."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ingest.errors import Refused
from spark_jobs import spark_on_demand
from webapp.supervisor.child import Child, Program
from webapp.supervisor.spark_demand import SparkDemand, StartedSpark

IDLE_S = 0.5


class Started:
    """What stands for Spark here is a process that serves once ``ready`` lies in the folder."""

    def __init__(self, folder: Path, ready_within_s: float = 60) -> None:
        self.folder, self.ready_within_s = folder, ready_within_s
        self.children: list[Child] = []
        self.stopped: list[Child] = []

    def start(self) -> StartedSpark:
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        ready = (self.folder / "ready").exists
        program = Program("spark", command, dict(os.environ), self.folder, ready=ready, ready_within_s=self.ready_within_s)
        child = Child(program, self.folder)
        child.start()
        self.children.append(child)
        return StartedSpark(child, f"sc://localhost:{len(self.children)}", f"token {len(self.children)}")

    def stop(self, child: Child) -> None:
        child.stop()
        self.stopped.append(child)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    (tmp_path / "ready").touch()
    started = Started(tmp_path)
    yield started
    for child in started.children:
        child.kill()


@pytest.fixture
def demand(started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkDemand]:
    monkeypatch.setenv(spark_on_demand.VARIABLE, str(tmp_path / "spark.sock"))
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost:0")
    monkeypatch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", "")
    monkeypatch.setattr(spark_on_demand, "_held", [])
    demand = SparkDemand(tmp_path / "spark.sock", started.start, started.stop, IDLE_S)
    yield demand
    demand.close()
    done_with_it()


def done_with_it() -> None:
    """As the end of the process that asked."""
    while spark_on_demand._held:
        spark_on_demand._held.pop().close()


def until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_it_is_started_for_the_first_job_and_kept_for_the_next(started: Started, demand: SparkDemand) -> None:
    assert not started.children
    spark_on_demand.ensure()
    assert os.environ["SPARK_REMOTE"] == "sc://localhost:1"
    assert os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] == "token 1"
    done_with_it()
    spark_on_demand.ensure()
    assert len(started.children) == 1


def test_it_ends_once_nobody_has_used_it_for_a_while_and_comes_back_elsewhere(started: Started, demand: SparkDemand) -> None:
    spark_on_demand.ensure()
    time.sleep(2 * IDLE_S)
    assert not started.stopped
    done_with_it()
    until(lambda: started.stopped)
    spark_on_demand.ensure()
    assert os.environ["SPARK_REMOTE"] == "sc://localhost:2"


def test_jobs_wait_until_it_serves(started: Started, demand: SparkDemand, tmp_path: Path) -> None:
    (tmp_path / "ready").unlink()
    asks = threading.Thread(target=spark_on_demand.ensure)
    asks.start()
    until(lambda: started.children)
    assert asks.is_alive()
    (tmp_path / "ready").touch()
    asks.join(60)
    assert not asks.is_alive()


def test_a_look_starts_nothing(started: Started, demand: SparkDemand) -> None:
    assert not spark_on_demand.runs()
    assert not started.children
    spark_on_demand.ensure()
    assert spark_on_demand.runs()


def test_one_that_does_not_serve_in_time_is_said_to_those_who_wait(started: Started, demand: SparkDemand, tmp_path: Path) -> None:
    (tmp_path / "ready").unlink()
    started.ready_within_s = 0.3
    with pytest.raises(Refused, match=r"Spark was not started: it is not ready after 0 s, see .*spark\.log"):
        spark_on_demand.ensure()
    until(lambda: started.stopped)


def test_a_start_that_is_impossible_is_said_and_the_next_job_tries_again(
    started: Started, demand: SparkDemand, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(started, "folder", started.folder / "none")
        full.setattr(demand, "_start_spark", lambda: (started.folder / "file").write_text(""))
        with pytest.raises(Refused, match=r"Spark was not started: .*No such file"):
            spark_on_demand.ensure()
    spark_on_demand.ensure()
    assert os.environ["SPARK_REMOTE"] == "sc://localhost:1"


def test_where_nobody_answers_a_job_says_so(demand: SparkDemand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(spark_on_demand.VARIABLE, str(tmp_path / "gone.sock"))
    with pytest.raises(Refused, match=r"Nobody who starts Spark answers at .*gone\.sock"):
        spark_on_demand.ensure()


def test_without_such_a_socket_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(spark_on_demand.VARIABLE, raising=False)
    spark_on_demand.ensure()
    assert spark_on_demand.runs()
