"""Flink's own loaders were given the hand-written samples; what they saw is kept beside the
recordings.

They prove the writers of this package as much as the reader. No loader of today reads channel state
of 1.11 and changelogs of 1.14, and no released one reads version 7.
"""

import pytest

from tests.ingest.metadata import samples
from tests.ingest.metadata.reading import lines
from tests.ingest.metadata.test_recorded import NOT_KEPT, directory, oracle, unpacked

LOADED = {
    "written-2-by-2.3.0": "2",
    "written-3_1.12-by-2.3.0": "3 (1.12)",
    "written-3_1.15-by-2.3.0": "3 (1.15)",
    "written-4-by-1.20.5": "4",
    "written-4-by-2.3.0": "4",
    "written-5-by-2.3.0": "5",
    "written-6-by-2.3.0": "6",
}
NOT_IN_THE_FILE = {"keyed_handle_id", "checkpointed_size"}
"""Where the format lacks them the loader makes them up, and the reader says nothing."""
ALWAYS_OTHERWISE = NOT_KEPT | {"backend_id"}
"""The loader hashes backends that are no UUIDs."""


@pytest.mark.parametrize("name", LOADED)
def test_the_loader_was_given_the_same_bytes(name: str) -> None:
    assert unpacked(name) == samples.ALL[LOADED[name]]


@pytest.mark.parametrize("name", LOADED)
def test_every_handle_is_the_one_that_the_loader_sees(name: str) -> None:
    header, *expected = oracle(name)
    _, *found = lines(unpacked(name), directory(header))
    assert len(found) == len(expected)
    for theirs, ours in zip(expected, found, strict=True):
        skipped = ALWAYS_OTHERWISE | {key for key in NOT_IN_THE_FILE if ours.get(key) is None}
        if theirs["handle_class"] == "KeyGroupsStateHandle":
            skipped |= {"path_or_null"}  # the loader's key groups hide the file in them
        told = {
            key: None if value == "null" else value
            for key, value in theirs.items()
            if key not in skipped
        }
        assert {key: ours.get(key, "missing") for key in told} == told


@pytest.mark.parametrize("name", LOADED)
def test_sizes_are_counted_as_the_loader_counts(name: str) -> None:
    theirs = oracle(name)[0]
    ours = lines(unpacked(name), directory(theirs))[0]
    assert ours["total_state_size"] == theirs["total_state_size"]
    for operator, counted in zip(
        sorted(theirs["operators"], key=str), sorted(ours["operators"], key=str), strict=True
    ):
        assert {key: counted.get(key) for key in operator} == operator
