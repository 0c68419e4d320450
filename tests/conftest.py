"""Two workers share the tests: one plays those against a real Flink, which mostly wait, while the other goes through the rest."""

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

SHARED_HOMES = ("integration", "acceptance")
"""Folders whose files share what takes minutes to set up, or ports: each stays with one worker. They begin first."""


class Together(LoadScopeScheduling):
    """A file stays with one worker, and so does a folder of :data:`SHARED_HOMES`."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        folder = Path(file).parts[1]
        return folder if folder in SHARED_HOMES else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {folder: place for place, folder in enumerate(SHARED_HOMES)}
    here = Path(__file__).parent
    items.sort(key=lambda item: places.get(item.path.relative_to(here).parts[0], len(places)))
