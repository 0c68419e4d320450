"""A real Flink a task of which is slow to restore, seen live with dumps of slow starts: the finding
says where its thread was.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.integration.running import ASK_AGAIN_S, RunningWeir, until
from tests.lab.cluster import start
from tests.migrated import home_with_database

pytestmark = [pytest.mark.integration, pytest.mark.long]

CLUSTER = "slow-lab"
SLEEPS = "in lab.Enrich.initializeState"


@dataclass
class Told:
    """The newest slow start of which threads were seen, at three doors."""

    finding: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    starts: str = ""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder = tmp_path_factory.mktemp("slow")
    quick = {
        "WEIR_DEMO": "false",
        "WEIR_COLLECT_INTERVAL_S": "3",
        "WEIR_SPARK_INTERVAL_S": "10",
        "WEIR_START_DUMPS": "true",
    }
    with (
        start("1.20.5", "slow-restore", slot=9, folder=folder / "flink") as lab,
        RunningWeir(home_with_database(folder / "home"), **quick) as weir,
    ):
        weir.wait_up()
        assert weir.sign_in(*weir.printed_sign_in())
        added = weir.manage("add_cluster", CLUSTER, lab.url, "--logs", lab.log_glob)
        assert added.returncode == 0, added.stdout + added.stderr
        told = Told()
        told.finding = until(
            lambda: _with_threads(weir), 600, "a finding that says what threads did", ASK_AGAIN_S
        )
        told.page = weir.page(f"/findings/{told.finding['id']}/")[2]
        told.starts = weir.manage("analyse", CLUSTER, lab.job_id, "starts").stdout
        yield told


def _with_threads(weir: RunningWeir) -> dict[str, Any] | None:
    """A start of which no dump was taken in time is followed by the next."""
    found = weir.api("/api/v1/findings/?rule=start.slow_phase&state=any")["results"]
    details = (weir.api(f"/api/v1/findings/{one['id']}/") for one in found)
    return next((one for one in details if one["starting_threads"]), None)


def test_the_finding_of_the_slow_start_says_where_the_thread_of_the_task_was(told: Told) -> None:
    assert told.finding["title"].startswith("enrich/0 held the ")
    for thread in told.finding["starting_threads"]:
        assert (thread["subtask"], thread["state"]) == (0, "INITIALIZING")
        assert SLEEPS in thread["sentence"] and thread["after_ms"] >= 10_000


def test_its_page_and_the_command_say_it_too(told: Told) -> None:
    assert "What slow tasks did" in told.page and SLEEPS in told.page
    assert SLEEPS in told.starts
