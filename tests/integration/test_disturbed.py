"""Killed workers, clients and web servers and a flushed Redis lose and double nothing: the rows are those of a calm run."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.integration.running import RunningWeir, until
from tests.integration.served import served_rows
from webapp.supervisor.recordings import SHIPPED

pytestmark = pytest.mark.integration

RECORDINGS = ("1.20.5/E", "1.20.5/F", "1.20.5/H", "1.12.5/G", "1.20.5/I")
Rows = dict[str, list[tuple[Any, ...]]]


def load(weir: RunningWeir, name: str) -> None:
    run = weir.manage("import_recording", str(SHIPPED / name), "--cluster", name.replace("/", "-"))
    assert run.returncode in (0, 1), run.stderr


def kill_client(weir: RunningWeir) -> None:
    _kill(weir, "spark_jobs cycle")


def kill_spark_worker(weir: RunningWeir) -> None:
    _kill(weir, "--queues spark")


def kill_web_server(weir: RunningWeir) -> None:
    _kill(weir, "gunicorn")


def flush_redis(weir: RunningWeir) -> None:
    redis.Redis.from_url((weir.home / "redis.url").read_text().strip()).flushall()


def _kill(weir: RunningWeir, words: str) -> None:
    pid = weir.pid_of(words)
    assert pid, f"no process {words!r} to kill"
    os.kill(pid, signal.SIGKILL)


DISTURBANCES: tuple[Callable[[RunningWeir], None], ...] = (kill_client, kill_spark_worker, flush_redis, kill_web_server, kill_client)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Rows]]:
    """Served rows of a calm instance and of a disturbed one, after the same recordings."""
    calm, disturbed = (tmp_path_factory.mktemp(name) / "home" for name in ("calm", "disturbed"))
    served: dict[str, Rows] = {}
    with RunningWeir(calm, WEIR_DEMO="false", WEIR_SPARK_INTERVAL_S="3600") as weir:
        weir.wait_up()
        for name in RECORDINGS:
            load(weir, name)
        assert weir.manage("run_pipeline").returncode == 0
        served["calm"] = served_rows(weir)
    with RunningWeir(disturbed, WEIR_DEMO="false", WEIR_SPARK_INTERVAL_S="3") as weir:
        weir.wait_up()
        for name, disturb in zip(RECORDINGS, DISTURBANCES, strict=True):
            load(weir, name)
            _in_mid_cycle(weir, disturb)
        until(lambda: weir.manage("run_pipeline").returncode == 0, 900, "a pipeline that is through")
        served["disturbed"] = served_rows(weir)
        served["runs"] = {"runs": weir.rows("SELECT state, error FROM pipeline_pipelinerun WHERE key = 'spark/cycle'")}
        served["logs"] = {"logs": [(log.read_text(errors="replace"),) for log in (disturbed / "logs").glob("*.log*")]}
    yield served


def _in_mid_cycle(weir: RunningWeir, disturb: Callable[[RunningWeir], None]) -> None:
    until(lambda: weir.pid_of("spark_jobs cycle"), 300, "the next Spark cycle")
    time.sleep(1.5)  # past its imports, into the work
    disturb(weir)


@pytest.mark.parametrize(
    "table",
    ["checkpoint_fact", "log_event", "job_current", "checkpoint_rollup", "pressure_window", "size_trend", "finding_sight", "finding"],
)
def test_the_rows_are_those_of_a_calm_run(rows: dict[str, Rows], table: str) -> None:
    assert rows["calm"][table]
    assert rows["disturbed"][table] == rows["calm"][table]


@pytest.mark.parametrize("table", ["job_exception", "job_annotation", "skipped_input"])
def test_so_are_those_of_what_happened_and_what_was_skipped(rows: dict[str, Rows], table: str) -> None:
    assert rows["disturbed"][table] == rows["calm"][table]


def test_the_disturbance_was_real(rows: dict[str, Rows]) -> None:
    assert {state for state, _error in rows["runs"]["runs"]} - {"done"}


def test_the_database_was_never_locked(rows: dict[str, Rows]) -> None:
    assert not any("database is locked" in log for (log,) in rows["logs"]["logs"])


def test_a_home_holds_its_secrets_for_its_owner_alone(tmp_path: Path) -> None:
    with RunningWeir(tmp_path / "home", WEIR_DEMO="false") as weir:
        weir.wait_for_line(r"Dashboard")
        for path in (weir.home, weir.home / "secrets", weir.home / "weir.sqlite3"):
            assert path.stat().st_mode & 0o077 == 0, path
