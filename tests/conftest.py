"""Two workers share the tests: one plays those against a real Flink, which often wait, while the other goes through the rest."""

import os
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# No JVM of the tests lives long enough to win back what the slower, better compiler takes of two cores.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

TOGETHER = ("integration", "acceptance")
"""Folders that stay with one worker: two Flinks at once would take each other's time, and homes that take minutes to fill are shared.
Every other file stays whole, too."""

LONGEST_FIRST = (
    "integration",
    "acceptance",
    "spark_jobs/test_cluster_modes.py",
    "spark_jobs/storage/test_worlds.py",
    "spark_jobs",
)
"""Files and folders that take minutes, so that none of them is left for the end."""


class Together(LoadScopeScheduling):
    """Hands out files, and the folders of :data:`TOGETHER` as one each."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        folder = Path(file).parts[1]
        return folder if folder in TOGETHER else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    items.sort(key=lambda item: _turn(item.path.relative_to(here).as_posix()))


def _turn(file: str) -> int:
    turns = (turn for turn, place in enumerate(LONGEST_FIRST) if file == place or file.startswith(f"{place}/"))
    return next(turns, len(LONGEST_FIRST))
