"""Each process of a running instance is killed with -9, one after the other, by the out-of-memory
killer or by somebody: each comes back.

What a kill must not lose or double is told elsewhere: a killed whole in
``tests/integration/test_whole.py``, workers, their children, web server and Redis while they work
in ``test_disturbed.py``, deliveries, reports, clean-ups and their purge in the ``test_killed.py``
of each, a worker in the middle of Spark and of collecting in
``tests/webapp/pipeline/test_workers.py``.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.running import RunningWeir, until
from webapp.config.schedule import QUEUES

pytestmark = [pytest.mark.integration, pytest.mark.long]
PARTS = (
    "webapp.launch.web",
    "valkey-server",
    "ingest replay",
    "celery beat",
    *(f"-Q {queue}" for queue in QUEUES),
)
"""Words of command lines."""
BACK_WITHIN_S = 120


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWeir]:
    """Spark is elsewhere: its client dies in ``test_disturbed.py``."""
    with RunningWeir(
        tmp_path_factory.mktemp("killed") / "home", SPARK_MASTER="local[1]"
    ) as running:
        running.wait_for_line(
            r"Dashboard +http://"
        )  # its recordings go on being imported meanwhile
        yield running


@pytest.mark.parametrize("words", PARTS)
def test_a_process_that_is_killed_comes_back_and_the_house_stands(
    running: RunningWeir, words: str
) -> None:
    before = until(lambda: running.pid_of(words), BACK_WITHIN_S, f"{words} running")
    os.kill(before, signal.SIGKILL)
    until(
        lambda: running.pid_of(words) not in (None, before), BACK_WITHIN_S, f"{words} coming back"
    )
    until(lambda: _answers(running), BACK_WITHIN_S, "the dashboard answering")
    assert running.process.poll() is None


def test_every_process_is_among_those_that_were_killed(running: RunningWeir) -> None:
    spared = ("webapp.launch", "supervisord", "spark", "java")
    unknown = [
        command
        for command in running.processes().values()
        if not any(words in command for words in (*PARTS, *spared))
    ]
    assert not unknown


def test_no_secret_was_lost_on_the_way(running: RunningWeir) -> None:
    assert (Path(running.home) / "weir.sqlite3").exists() and running.page("/sign-in/")[0] == 200


def _answers(running: RunningWeir) -> bool:
    try:
        return running.page("/healthz")[0] == 200
    except OSError:
        return False
