"""No link below a root leads a reader, a mover or a deleter out of it, however deep it is and
whenever it was put there.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest import beneath
from ingest.flink_logs import files as log_files
from ingest.regular_files import open_regular
from ingest.storage import tree
from ingest.storage.directories import directories
from ingest.storage.plan_folder import PlanFolder
from ingest.storage.roots import Root
from webapp.cleanup.metadata_search import metadata_below

JOB = "0e0a9226e66450b804703de8c16027eb"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """With a directory that is a link to one outside, which holds what is nobody's business."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "secret").write_bytes(b"key")
    root.mkdir()
    (root / "link").symlink_to(outside)
    (root / "file").write_bytes(b"state")
    return root


REFUSED: dict[str, Callable[[Path], object]] = {
    "stat": lambda root: tree.stat(f"{root}/link/secret", str(root)),
    "delete": lambda root: tree.delete(f"{root}/link/secret", within=str(root)),
    "move from": lambda root: tree.move(
        f"{root}/link/secret", f"{root}/moved", within=(str(root), str(root))
    ),
    "move to": lambda root: tree.move(
        f"{root}/file", f"{root}/link/new", within=(str(root), str(root))
    ),
    "copy to": lambda root: tree.copy_first(
        f"{root}/file", f"{root}/link/new", 5, (str(root), str(root))
    ),
    "copy from": lambda root: tree.copy_first(
        f"{root}/link/secret", f"{root}/new", 3, (str(root), str(root))
    ),
    "list": lambda root: list(directories(str(root)).entries("/link")),
    "open": lambda root: open_regular(root / "link" / "secret", root),
    "record": lambda root: PlanFolder(f"{root}/link", str(root)).write("a", b"x"),
}


@pytest.mark.parametrize("does", REFUSED)
def test_what_is_behind_a_link_is_neither_read_nor_changed(root: Path, does: str) -> None:
    with pytest.raises((OSError, tree.TreeError), match=r"is a link|leads out"):
        REFUSED[does](root)
    assert [path.name for path in (root / "link").iterdir()] == ["secret"]
    assert (root / "file").read_bytes() == b"state"


def test_a_directory_that_becomes_a_link_after_it_was_looked_at_changes_nothing_outside(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "job").mkdir()
    (root / "job" / "secret").write_bytes(b"key")
    looked = tree.stat

    def swapped(path: str, within: str | None = None) -> tree.Stat:
        found = looked(path, within)
        if not (root / "job").is_symlink():
            (root / "job").rename(root / "before")
            (root / "job").symlink_to(root.parent / "outside")
        return found

    monkeypatch.setattr(tree, "stat", swapped)
    with pytest.raises(tree.TreeError):
        tree.delete(f"{root}/job/secret", within=str(root))
    assert (root.parent / "outside" / "secret").read_bytes() == b"key"


def test_a_root_that_is_a_link_itself_is_the_operators_own_choice(root: Path) -> None:
    other = root.parent / "other"
    other.symlink_to(root)
    assert tree.stat(f"{other}/file", str(other)).bytes == 5
    assert {entry.name for entry in directories(str(other)).entries("")} == {"file", "link"}


def test_logs_behind_a_link_are_not_found(root: Path) -> None:
    (root.parent / "outside" / "taskmanager.log").write_bytes(b"x")
    (root / "host").mkdir()
    (root / "host" / "jobmanager.log").write_bytes(b"x")
    found, _ = log_files.find([f"{root}/*/*.log"])
    assert {Path(file.path).name for file in found} == {"jobmanager.log"}


def test_a_search_for_metadata_goes_behind_no_link_and_a_metadata_that_leads_out_is_a_doubt(
    root: Path,
) -> None:
    (root / JOB / "chk-1").mkdir(parents=True)
    (root / JOB / "chk-1" / "_metadata").symlink_to(root.parent / "outside" / "secret")
    (root.parent / "outside" / "_metadata").write_bytes(b"x")
    (file,) = metadata_below([Root(f"file:{root}")])
    assert file.path == f"file:{root}/{JOB}/chk-1/_metadata"
    with pytest.raises(OSError, match="leads out"):
        file.open()


def test_directories_that_may_be_entered_and_not_listed_are_gone_through(root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a").chmod(0o300)
    with beneath.open_folder(root, ("a", "b")) as here:
        assert os.path.samestat(os.fstat(here), (root / "a" / "b").stat())
