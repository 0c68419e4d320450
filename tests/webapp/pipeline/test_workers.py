"""Real workers, a real beat and a real Redis: what is killed or flushed in mid-cycle loses and
doubles nothing.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from ingest.lake.store import Lake
from tests.webapp.pipeline.site import Site, is_running, kill, wait_for

STRESS_S = float(os.environ.get("WEIR_STRESS_S", "10"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path / "home") as site:
        yield site


def checkpoints_in_lake(site: Site) -> set[tuple[str, str, int]]:
    """Every checkpoint the lake ever saw, however often."""
    delta = Lake(str(site.home / "lake"))
    import pyarrow.parquet as pq

    rows = [
        row
        for file in delta.files("checkpoints")
        for row in pq.read_table(file.uri, partitioning=None).to_pylist()
    ]
    return {(row["cluster"], row["job_id"], row["checkpoint_id"]) for row in rows}


def checkpoints_in_database(site: Site) -> list[tuple[str, str, int]]:
    return [
        tuple(row)
        for row in site.rows(
            "SELECT cluster, job_id, checkpoint_id FROM checkpoints_checkpointfact"
        )
    ]  # type: ignore[misc]


def settle(site: Site) -> None:
    """Everything that is in the lake is in the database, once."""
    site.manage("run_pipeline")
    found = checkpoints_in_database(site)
    assert len(found) == len(set(found))
    assert set(found) == checkpoints_in_lake(site)


@pytest.mark.long
def test_a_worker_killed_during_spark_takes_its_client_along_and_another_finishes(
    site: Site,
) -> None:
    _, url = site.jobmanager()
    site.manage("add_cluster", "c", url, "--untested")
    (site.home / "hold").touch()
    worker, _ = site.worker("first"), site.beat()
    wait_for((site.home / "began").exists, "the Spark client")
    client = int((site.home / "began").read_text())
    assert is_running(client)
    kill(worker)
    wait_for(lambda: not is_running(client), "the end of the Spark client", 30)
    (site.home / "hold").unlink()
    second = site.worker("second")
    wait_for(lambda: site.count("work_manifest WHERE state = 'loaded'"), "a loaded run")
    assert site.count("work_pipelinerun WHERE kind = 'spark' AND state = 'abandoned'") == 1
    kill(second)  # else it may hold what the command below is to do
    settle(site)


@pytest.mark.long
def test_collections_go_on_and_have_their_news_computed_without_any_beat(site: Site) -> None:
    """The beat is for what is lost: who has done something says what is to be done next, and
    when.
    """
    _, url = site.jobmanager()
    site.manage("add_cluster", "c", url, "--untested")
    site.worker("one")
    first = "from django.utils import timezone; from webapp.pipeline import tasks; "
    first += "from webapp.work import registry; from webapp.work.models import DueWork; "
    site.manage(
        "shell",
        "-c",
        first
        + (
            "DueWork.objects.ensure(registry.intervals_s(), timezone.now()); "
            "tasks.hint_at('collect/0')"
        ),
    )
    wait_for(lambda: site.count("work_manifest WHERE state = 'loaded'") >= 2, "two loaded runs")
    assert site.count("work_pipelinerun WHERE kind = 'collect' AND state = 'done'") >= 2


@pytest.mark.long
def test_a_worker_killed_while_it_collects_is_followed_by_another_which_reads_the_same(
    site: Site,
) -> None:
    jobmanager, url = site.jobmanager()
    site.manage("add_cluster", "c", url, "--untested")
    os.kill(jobmanager.pid, signal.SIGSTOP)  # it hangs: the cycle cannot end
    worker, _ = site.worker("first"), site.beat()
    wait_for(
        lambda: (
            site.home.joinpath("weir.sqlite3").exists()
            and site.count("work_pipelinerun WHERE kind = 'collect'")
        ),
        "a cycle",
    )
    kill(worker)
    os.kill(jobmanager.pid, signal.SIGCONT)
    site.worker("second")
    wait_for(
        lambda: site.count("fleet_cluster WHERE last_success_at IS NOT NULL"), "a collect cycle"
    )
    assert site.count("work_pipelinerun WHERE kind = 'collect' AND state = 'abandoned'") == 1
    wait_for(lambda: site.count("checkpoints_checkpointfact"), "facts")
    settle(site)


@pytest.mark.long
def test_two_workers_beat_and_the_web_write_at_once_without_a_lock_or_an_overlap(
    site: Site,
) -> None:
    """WEIR_STRESS_S=600 for ten minutes.

    Redis is flushed all the while and once killed, which must only delay.
    """
    _, url = site.jobmanager()
    site.manage("add_cluster", "c", url, "--untested")
    site.worker("one")
    site.worker("two")
    site.beat()
    site.start(sys.executable, "-m", "tests.webapp.pipeline.web_writes", log="web")
    wait_for(lambda: site.count("work_manifest WHERE state = 'loaded'"), "a loaded run")
    began = time.monotonic()
    for second in range(int(STRESS_S)):
        if second == int(STRESS_S / 3):
            site.restart_redis()
        site.flush_redis()
        time.sleep(max(0.0, began + second + 1 - time.monotonic()))
    runs = site.rows(
        "SELECT key, started_at, finished_at, state, error FROM work_pipelinerun ORDER BY key, "
        "started_at, id"
    )
    assert {state for *_, state, _ in runs} <= {"done", "running"}, runs
    for (key, _, ended, _, _), (next_key, began, _, _, _) in pairwise(runs):
        assert key != next_key or (
            ended and datetime.fromisoformat(began) >= datetime.fromisoformat(ended)
        ), "two runs of one work overlap"
    assert sum(key == "collect/0" for key, *_ in runs) >= STRESS_S / 15
    assert "database is locked" not in site.logs()
    assert site.count("accounts_signinfailures") > 0
    for process in site.processes[1:]:
        kill(process)
    settle(site)
