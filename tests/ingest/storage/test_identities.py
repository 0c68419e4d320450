"""Directories with two names, as listings visit them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest import beneath
from ingest.storage.identities import VisitedDirectories, same_directory
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from ingest.storage.snapshots import SECOND_NAME, Listed
from tests.mounts import mounts

__all__ = ["mounts"]

JOB = "0e0a9226e66450b804703de8c16027eb"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "ckpt" / JOB / "shared").mkdir(parents=True)
    (tmp_path / "ckpt" / JOB / "shared" / "a").write_bytes(b"1")
    return tmp_path / "ckpt"


def told(*listed: Listed) -> list[tuple[str, str]]:
    return [
        (skip.subject, skip.detail.partition(": ")[0])
        for one in listed
        for skip in one.unlisted
        if skip.reason == SECOND_NAME
    ]


def both(one: Root, other: Root, tmp_path: Path) -> tuple[Listed, Listed, VisitedDirectories]:
    visited = VisitedDirectories()
    return (
        *(
            list_root(root, str(tmp_path / f"out-{number}"), visited=visited)
            for number, root in enumerate((one, other))
        ),
        visited,
    )  # type: ignore[return-value]


def test_a_root_behind_a_link_is_the_same_directory(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    first, second, visited = both(Root(f"file:{tree}"), Root(f"file:{tmp_path}/link"), tmp_path)
    assert (told(first), told(second)) == (
        [],
        [(f"file:{tmp_path}/link", f"It is the same directory as file:{tree}")],
    )
    assert [skip.subject for skip in visited.skips_of(f"file:{tree}")] == [f"file:{tree}"]
    assert second.files == 1


def test_two_roots_read_at_one_place_are_one_directory(tree: Path, tmp_path: Path) -> None:
    _, second, _ = both(
        Root("s3://one/flink", str(tree)), Root("hdfs://two/flink", str(tree)), tmp_path
    )
    assert told(second) == [("hdfs://two/flink", "It is the same directory as s3://one/flink")]


def test_a_mount_of_a_directory_within_a_root_is_told_once_however_much_lies_below(
    tree: Path, tmp_path: Path, mounts: Callable[[Path, Path], None]
) -> None:
    mounts(tree / JOB, tree / "again" / JOB)
    listed = list_root(Root(f"file:{tree}"), str(tmp_path / "out"), threads=1)
    ((subject, what),) = told(listed)
    assert {subject, what.rpartition(" ")[2]} == {f"file:{tree}/{JOB}", f"file:{tree}/again/{JOB}"}


def test_directories_that_take_the_numbers_of_deleted_ones_are_no_second_names(
    tree: Path, tmp_path: Path
) -> None:
    visited = VisitedDirectories()
    list_root(Root(f"file:{tree}"), str(tmp_path / "out"), visited=visited)
    (tree / JOB).rename(tmp_path / "elsewhere")
    listed = list_root(Root(f"file:{tmp_path}/elsewhere"), str(tmp_path / "out-2"), visited=visited)
    assert not told(listed)


def test_two_roots_beside_each_other_are_two_directories(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / JOB / "shared").mkdir(parents=True)
    os.link(tree / JOB / "shared" / "a", tmp_path / "other" / JOB / "shared" / "a")
    first, second, visited = both(Root(f"file:{tree}"), Root(f"file:{tmp_path}/other"), tmp_path)
    assert not told(first, second) and not visited.skips_of(f"file:{tree}")


def test_a_listing_that_goes_on_still_knows_what_it_met_before_it_was_cut_off(
    tree: Path, tmp_path: Path
) -> None:
    root = Root(f"file:{tree}")
    list_root(root, str(tmp_path / "out"), threads=1)
    (tmp_path / "out" / "_listed.json").unlink()
    visited = VisitedDirectories()
    list_root(root, str(tmp_path / "out"), threads=1, visited=visited)
    assert told(
        list_root(Root("s3://one/flink", str(tree)), str(tmp_path / "out-2"), visited=visited)
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("s3://bucket/flink", "s3a://bucket/flink/", True),
        ("s3://bucket/flink", "s3://bucket/flink/jobs", True),
        ("s3://bucket/flink", "s3://other/flink", False),
        ("hdfs://nn:8020/flink", "hdfs://nn/flink", True),
        ("/no/such/place", "/no/such/place/either", False),
    ],
)
def test_places_that_are_one_or_in_each_other(one: str, other: str, same: bool) -> None:
    assert same_directory(one, other) is same and same_directory(other, one) is same


def test_a_place_behind_a_link_is_within_what_the_link_leads_to(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree / JOB)
    assert same_directory(str(tree), str(tmp_path / "link"))
    assert not same_directory(str(tree), str(tmp_path / "missing"))


class _IgnoringCase:
    """The local file system as one looks that takes upper and lower case for the same; all names
    here are lower case.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: str | Path, flags: int, **more: Any) -> int:
        return os.open(str(path).lower(), flags, **more)


def test_two_spellings_on_a_file_system_that_ignores_case_are_one_directory(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beneath, "os", _IgnoringCase())
    assert str(tree) == str(tree).lower()
    first, second, visited = both(Root(f"file:{tree}"), Root(f"file:{tmp_path}/CKPT"), tmp_path)
    assert (
        first.files,
        second.files,
        len(told(second)),
        len(visited.skips_of(f"file:{tree}")),
    ) == (1, 1, 1, 1)
