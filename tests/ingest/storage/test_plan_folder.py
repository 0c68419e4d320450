"""The folder of a plan: what is written stays as it was written, on a disk and on object storage."""

from pathlib import Path

import fsspec
import pytest

from ingest.storage.plan_folder import AlreadyWritten, PlanFolder


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> PlanFolder:
    if request.param == "memory":
        fsspec.filesystem("memory").store.clear()
        return PlanFolder("memory://plans/one")
    return PlanFolder(str(tmp_path / "plans" / "one"))


def test_what_is_written_is_read_and_listed(folder: PlanFolder) -> None:
    folder.write("journal/apply/2", b"two")
    folder.write("journal/apply/1", b"one")
    assert folder.names("journal/apply") == ["1", "2"]
    assert folder.read("journal/apply/2") == b"two" and folder.exists("journal/apply/1")


def test_nothing_is_written_twice(folder: PlanFolder) -> None:
    folder.write("manifest.json", b"first")
    with pytest.raises(AlreadyWritten):
        folder.write("manifest.json", b"second")
    assert folder.read("manifest.json") == b"first"


def test_what_was_never_written_is_not_there(folder: PlanFolder) -> None:
    assert folder.names("journal/undo") == [] and not folder.exists("manifest.json")
    with pytest.raises(FileNotFoundError):
        folder.read("manifest.json")


def test_a_folder_that_is_forgotten_is_gone(folder: PlanFolder) -> None:
    folder.write("manifest.json", b"x")
    folder.remove()
    folder.remove()
    assert not folder.exists("manifest.json")
