"""Killed workers, clients and web servers and a flushed Redis lose and double nothing: the rows are
those of a calm run, and so is what a receiver of webhooks is told.
"""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from ingest.replay.shipped import recordings
from tests.integration.running import RunningWeir, until
from tests.integration.served import served_rows
from tests.webapp.delivery.receiver import Receiver, receiving

pytestmark = [pytest.mark.integration, pytest.mark.long]

TOLD_SOON = {"WEIR_ALERT_GROUP_INTERVAL_S": "5"}
LOOPBACK = {
    "WEIR_WEBHOOK_ALLOW_HTTP": "true",
    "WEIR_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    **TOLD_SOON,
}
RECORDINGS = ("1.20.5/E", "1.20.5/F", "1.20.5/H", "1.12.5/G", "1.20.5/I")
CYCLE_RUNS = "SELECT 1 FROM work_pipelinerun WHERE key = 'spark/cycle' AND state = 'running'"
CYCLES_WORKER = "-Q spark"
TRIES = 10
Rows = dict[str, list[tuple[Any, ...]]]


def load(weir: RunningWeir, name: str) -> None:
    run = weir.manage(
        "import_recording", str(recordings() / name), "--cluster", name.replace("/", "-")
    )
    assert run.returncode in (0, 1), run.stderr


def all_told(weir: RunningWeir) -> None:
    """Wait until nothing is left to be judged, told or sent."""
    left = """SELECT (SELECT count(*) FROM findings_finding WHERE to_alert),
              (SELECT count(*) FROM alerting_alert WHERE notify_since IS NOT NULL),
              (SELECT count(*) FROM delivery_delivery WHERE state NOT IN ('delivered', 'dead', 'cancelled'))"""
    until(lambda: not any(weir.rows(left)[0]), 180, "everything's being told")


def kill_pool_process(weir: RunningWeir) -> bool:
    """The child of the worker, in which the cycle runs."""
    of_worker = [pid for pid, command in weir.processes().items() if CYCLES_WORKER in command]
    if len(of_worker) < 2:
        return False
    os.kill(max(of_worker), signal.SIGKILL)
    return True


def kill_worker(weir: RunningWeir) -> bool:
    return _kill(weir, CYCLES_WORKER)


def kill_web_server(weir: RunningWeir) -> bool:
    return _kill(weir, "webapp.launch.web ")


def flush_redis(weir: RunningWeir) -> bool:
    redis.Redis.from_url((weir.home / "redis.url").read_text().strip()).flushall()
    return True


def _kill(weir: RunningWeir, words: str) -> bool:
    """Whether there was one."""
    pid = weir.pid_of(words)
    if pid is None:
        return False
    os.kill(pid, signal.SIGKILL)
    return True


DISTURBANCES: tuple[Callable[[RunningWeir], bool], ...] = (
    kill_pool_process,
    kill_worker,
    flush_redis,
    kill_web_server,
    kill_pool_process,
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Rows]]:
    """Served rows of a calm instance and of a disturbed one, after the same recordings."""
    calm, disturbed = (tmp_path_factory.mktemp(name) / "home" for name in ("calm", "disturbed"))
    served: dict[str, Rows] = {}
    with (
        receiving() as receiver,
        RunningWeir(calm, WEIR_DEMO="false", WEIR_SPARK_INTERVAL_S="3600", **LOOPBACK) as weir,
    ):
        weir.wait_up()
        weir.add_endpoint(f"{receiver.url}/ok")
        for name in RECORDINGS:
            load(weir, name)
        assert weir.manage("run_pipeline").returncode == 0
        served["calm"] = served_rows(weir)
        all_told(weir)
        load(weir, RECORDINGS[0])
        assert weir.manage("run_pipeline").returncode == 0
        all_told(weir)
        served["told"] = {"calm": told_by(receiver)}
    with (
        receiving() as receiver,
        RunningWeir(
            disturbed,
            WEIR_DEMO="false",
            WEIR_SPARK_INTERVAL_S="3",
            WEIR_MOST_ROWS_WITHOUT_SPARK="0",
            **LOOPBACK,
        ) as weir,
    ):
        weir.wait_up()
        weir.add_endpoint(f"{receiver.url}/ok")
        for name, disturb in zip(RECORDINGS, DISTURBANCES, strict=True):
            _load_disturbed(weir, name, disturb)
        until(
            lambda: weir.manage("run_pipeline").returncode == 0, 900, "a pipeline that is through"
        )
        served["disturbed"] = served_rows(weir)
        all_told(weir)
        served["told"]["disturbed"] = told_by(receiver)
        served["runs"] = {
            "runs": weir.rows("SELECT state, error FROM work_pipelinerun WHERE key = 'spark/cycle'")
        }
        served["logs"] = {
            "logs": [
                (log.read_text(errors="replace"),) for log in (disturbed / "logs").glob("*.log*")
            ]
        }
    yield served


def told_by(receiver: Receiver) -> list[tuple[Any, ...]]:
    """(webhook-id, cluster, rule, subject, status) of every alert in every delivery, in order of
    arrival.
    """
    return [
        (
            got.headers["webhook-id"],
            alert["cluster"],
            alert["rule"],
            alert["subject"],
            alert["status"],
        )
        for got in receiver.got
        for alert in json.loads(got.body)["data"]["alerts"]
    ]


def _load_disturbed(weir: RunningWeir, name: str, disturb: Callable[[RunningWeir], bool]) -> None:
    """Disturbed amid the cycle that it brings about.

    If it was over before, the recording comes again.
    """
    for _ in range(TRIES):
        load(weir, name)
        until(lambda: weir.rows(CYCLE_RUNS), 300, "the next cycle", every_s=0.02)
        time.sleep(0.1)  # into the work
        if disturb(weir):
            return
    raise AssertionError(f"no cycle of {name} lasted long enough to be disturbed")


@pytest.mark.parametrize(
    "table",
    [
        "checkpoint_fact",
        "log_event",
        "job_current",
        "checkpoint_rollup",
        "pressure_window",
        "size_trend",
        "finding_occurrence",
        "finding",
    ],
)
def test_the_rows_are_those_of_a_calm_run(rows: dict[str, Rows], table: str) -> None:
    assert rows["calm"][table]
    assert rows["disturbed"][table] == rows["calm"][table]


@pytest.mark.parametrize("table", ["job_exception", "job_annotation", "skipped_input"])
def test_so_are_those_of_what_happened_and_what_was_skipped(
    rows: dict[str, Rows], table: str
) -> None:
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


EXPECTED = {
    ("1.20.5-E", "checkpoint.declined", "lab-E-decline"),
    ("1.20.5-F", "checkpoint.expired", "lab-F-expire"),
    ("1.20.5-F", "pressure.root", "slow-enrich"),
    ("1.20.5-I", "restart.loop", "lab-I-kill"),
    *(
        ("1.12.5-G", "checkpoint.full_after_savepoint", f"checkpoint {number}")
        for number in (8, 12, 16)
    ),
}


def test_a_receiver_is_told_of_just_what_the_recordings_hold(rows: dict[str, Rows]) -> None:
    assert {told[1:4] for told in rows["told"]["calm"]} == EXPECTED


@pytest.mark.parametrize("instance", ["calm", "disturbed"])
def test_every_end_of_an_alert_is_told_once_and_none_of_it_again_by_a_second_import(
    rows: dict[str, Rows], instance: str
) -> None:
    told = rows["told"][instance]
    assert len({(id_, *alert) for id_, *alert in told}) == len(told)
    ends = Counter(
        (cluster, rule, subject)
        for _id, cluster, rule, subject, status in told
        if status == "resolved"
    )
    assert set(ends.values()) == {1}


def test_a_disturbed_instance_tells_of_the_same_alerts(rows: dict[str, Rows]) -> None:
    assert {told[1:4] for told in rows["told"]["disturbed"]} >= EXPECTED
