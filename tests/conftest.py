"""Two workers share the tests: one plays those against a real Flink, which mostly wait, while the other goes through the rest."""

from pathlib import Path

import pytest

SHARED_HOMES = ("integration", "acceptance")
"""Folders whose files share what takes minutes to set up: each stays with one worker."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file stays with one worker, and so does a folder of :data:`SHARED_HOMES`. The longest begin first."""
    here = Path(__file__).parent
    for item in items:
        folder, *_ = item.path.relative_to(here).parts
        item.add_marker(pytest.mark.xdist_group(folder if folder in SHARED_HOMES else item.path.name))
    places = {folder: place for place, folder in enumerate(SHARED_HOMES)}
    items.sort(key=lambda item: places.get(item.path.relative_to(here).parts[0], len(places)))
