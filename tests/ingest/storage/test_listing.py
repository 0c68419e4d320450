"""Listing a root: everything once, what cannot be seen is said, and a listing that was cut off goes
on.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.dataset as ds
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import Refused
from ingest.storage import listing
from ingest.storage.directories import Entry, Local
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from ingest.storage.snapshots import SCHEMA, Listed
from ingest.uris import Spellings
from tests.storage_trees import RECORDED, lay_out

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def rows(listed: Listed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        ds.dataset(listed.directory, schema=SCHEMA, exclude_invalid_files=False)
        .to_table()
        .to_pylist()
    )
    return sorted(found, key=lambda row: row["path"])


def paths(listed: Listed) -> list[str]:
    return [row["path"] for row in rows(listed)]


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_tree_is_listed_file_by_file(name: str, tmp_path: Path) -> None:
    tree = lay_out(name, tmp_path / "tree")
    listed = list_root(tree.root, str(tmp_path / "out"), at=AT)
    expected = sorted(
        (tree.uri(file.path), file.bytes, round(file.modified * 1000)) for file in tree.files
    )
    assert [
        (row["path"], row["bytes"], round(row["modified"].timestamp() * 1000))
        for row in rows(listed)
    ] == expected
    assert (listed.files, listed.bytes) == (len(expected), sum(size for _, size, _ in expected))
    assert (listed.unlisted, listed.as_of, {row["root"] for row in rows(listed)}) == (
        (),
        AT,
        {tree.root.uri},
    )
    assert all(Path(row["listed_path"]).stat().st_size == row["bytes"] for row in rows(listed))


class WithCopies(MemoryFileSystem):
    """As WebHDFS tells how often each block is kept."""

    protocol = "withcopies"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("withcopies://")))

    def ls(self, path: str, detail: bool = True, **how: Any) -> Any:
        return [
            info | {"replication": 2 if info["type"] == "file" else 0}
            for info in super().ls(path, detail=True, **how)
        ]


def test_a_listing_that_tells_how_often_files_are_stored_is_believed(tmp_path: Path) -> None:
    fsspec.register_implementation("withcopies", WithCopies, clobber=True)
    filesystem = fsspec.filesystem("withcopies")
    filesystem.pipe("/ckpt/job/shared/a", b"12345")
    listed = list_root(Root("hdfs://nn/ckpt", "withcopies:///ckpt"), str(tmp_path / "out"), at=AT)
    assert [(row["bytes"], row["replication"]) for row in rows(listed)] == [(5, 2)]
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a").touch()
    assert [
        row["replication"]
        for row in rows(list_root(Root.of(str(tmp_path / "plain")), str(tmp_path / "out2")))
    ] == [None]


def test_what_was_listed_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    root = Root.of(str(tmp_path / "tree"))
    first = list_root(root, str(tmp_path / "out"))
    (tmp_path / "tree" / "later").touch()
    assert list_root(root, str(tmp_path / "out")) == first
    with pytest.raises(Refused, match="another directory"):
        list_root(Root("file:/else"), str(tmp_path / "out"))


def test_the_beginning_is_kept_to_the_millisecond_like_all_instants(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    listed = list_root(
        Root.of(str(tmp_path / "tree")), str(tmp_path / "out"), at=AT.replace(microsecond=944_925)
    )
    assert listed.as_of == AT.replace(microsecond=944_000)


def test_other_files_are_not_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(Refused, match="other files"):
        list_root(Root.of(str(tmp_path / "tree")), str(tmp_path))


def test_a_directory_that_cannot_be_listed_is_reported_and_the_others_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open/a", "closed/b", "closed/deep/c"):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).touch()
    _refuse(monkeypatch, "/closed", PermissionError(13, "Permission denied"))
    listed = list_root(Root("file:/ckpt", str(tmp_path / "tree")), str(tmp_path / "out"))
    assert paths(listed) == ["file:/ckpt/open/a"]
    assert [(skip.subject, skip.reason) for skip in listed.unlisted] == [
        ("file:/ckpt/closed", "unlistable_directory")
    ]
    assert "Permission denied" in listed.unlisted[0].detail


def test_a_directory_that_goes_meanwhile_is_no_fault_but_a_missing_root_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree" / "gone").mkdir(parents=True)
    _refuse(monkeypatch, "/gone", FileNotFoundError(2, "No such file or directory"))
    assert list_root(Root.of(str(tmp_path / "tree")), str(tmp_path / "1")).unlisted == ()
    missing = list_root(Root("file:/ckpt", str(tmp_path / "nowhere")), str(tmp_path / "2"))
    assert (missing.files, [skip.subject for skip in missing.unlisted]) == (0, ["file:/ckpt"])


@pytest.mark.parametrize("reading", ["nosuch://bucket/ckpt", "http://127.0.0.1:1/ckpt"])
def test_a_root_out_of_reach_is_reported(reading: str, tmp_path: Path) -> None:
    listed = list_root(Root("file:/ckpt", reading), str(tmp_path / "out"))
    assert [skip.reason for skip in listed.unlisted] == ["unlistable_directory"]


def test_links_are_reported_unless_declared(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "real").mkdir(parents=True)
    (tree / "real" / "a").touch()
    (tree / "link").symlink_to(tree / "real")
    reported = list_root(Root.of(str(tree)), str(tmp_path / "1"))
    assert paths(reported) == [f"file:{tree}/real/a"]
    assert [(skip.subject, skip.reason) for skip in reported.unlisted] == [
        (f"file:{tree}/link", "link")
    ]
    aliases = Spellings(((f"{tree}/link", f"{tree}/real"),))
    assert list_root(Root.of(str(tree)), str(tmp_path / "2"), spellings=aliases).unlisted == ()


def test_paths_are_canonical_and_listed_paths_open(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "100%20b").write_bytes(b"12")
    (row,) = rows(
        list_root(
            Root("hdfs://nn/ckpt", str(tree)),
            str(tmp_path / "out"),
            spellings=Spellings((("hdfs://nn", "hdfs://one"),)),
        )
    )
    assert row["path"] == "hdfs://one/ckpt/100 b"
    assert Path(row["listed_path"]).read_bytes() == b"12"


def test_odd_names_are_listed_or_reported(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff")).touch()
    (tree / ("%" + "25" * 20)).touch()
    (tree / "new\nline").touch()
    listed = list_root(Root.of(str(tree)), str(tmp_path / "out"))
    assert len(paths(listed)) == 2
    assert [skip.reason for skip in listed.unlisted] == ["bad_name"]


def test_a_listing_that_was_cut_off_goes_on_with_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _many(tmp_path / "tree", 12)
    root, out = Root("file:/ckpt", str(tmp_path / "tree")), str(tmp_path / "out")
    monkeypatch.setattr(listing, "ROWS_A_PART", 1)
    with monkeypatch.context() as patched:
        _refuse(patched, "/7", RuntimeError("killed"))
        with pytest.raises(RuntimeError, match="killed"):
            list_root(root, out, threads=1, at=AT)
    asked = _asked(monkeypatch)
    listed = list_root(root, out, threads=1, at=AT + timedelta(hours=1))
    assert paths(listed) == expected
    assert (listed.files, listed.as_of) == (len(expected), AT)
    assert 0 < len(asked) < 13


def test_a_beginning_of_yesterday_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _many(tmp_path / "tree", 3)
    root, out = Root("file:/ckpt", str(tmp_path / "tree")), str(tmp_path / "out")
    monkeypatch.setattr(listing, "ROWS_A_PART", 1)
    with monkeypatch.context() as patched:
        _refuse(patched, "/1", RuntimeError("killed"))
        with pytest.raises(RuntimeError, match="killed"):
            list_root(root, out, threads=1, at=AT)
    asked = _asked(monkeypatch)
    listed = list_root(root, out, at=AT + timedelta(days=1))
    assert (listed.as_of, sorted(asked)) == (AT + timedelta(days=1), ["", "/0", "/1", "/2"])
    assert len(paths(listed)) == listed.files


def test_a_large_directory_is_written_as_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _many(tmp_path / "tree", 1, files=50)
    monkeypatch.setattr(listing, "ROWS_A_BATCH", 7)
    assert (
        paths(list_root(Root("file:/ckpt", str(tmp_path / "tree")), str(tmp_path / "out")))
        == expected
    )


def test_any_fsspec_store_is_listed_and_may_hold_the_listing(tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    try:
        for name in ("job/shared/a", "job/chk-1/_metadata", "b"):
            store.pipe(f"/ckpt/{name}", b"123")
        listed = list_root(Root("s3://bucket/ckpt", "memory://ckpt"), "memory://out")
        found = fsspec.filesystem("memory")
        assert json.loads(found.cat("/out/_listed.json"))["files"] == listed.files == 3
        assert list_root(Root("s3://bucket/ckpt", "memory://ckpt"), "memory://out") == listed
        local = list_root(Root("s3://bucket/ckpt", "memory://ckpt"), str(tmp_path / "out"))
        assert next((row["path"], row["listed_path"]) for row in rows(local)) == (
            "s3://bucket/ckpt/b",
            "memory://ckpt/b",
        )
        assert paths(local) == [
            "s3://bucket/ckpt/b",
            "s3://bucket/ckpt/job/chk-1/_metadata",
            "s3://bucket/ckpt/job/shared/a",
        ]
    finally:
        store.store.clear()


_TREES = st.sets(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(
        lambda parts: "/".join([*parts, "f"])
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(_TREES, st.integers(1, 5))
def test_every_file_is_listed_once_by_however_many_threads(
    tmp_path_factory: pytest.TempPathFactory, tree: set[str], threads: int
) -> None:
    directory = tmp_path_factory.mktemp("listing")
    (directory / "tree").mkdir()
    for name in tree:
        (directory / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "tree" / name).touch()
    listed = list_root(
        Root("file:/ckpt", str(directory / "tree")), str(directory / "out"), threads=threads
    )
    assert paths(listed) == sorted(f"file:/ckpt/{name}" for name in tree)


def _many(directory: Path, folders: int, files: int = 2) -> list[str]:
    made = []
    for folder in range(folders):
        (directory / str(folder)).mkdir(parents=True)
        for file in range(files):
            (directory / str(folder) / f"f{file}").touch()
            made.append(f"file:/ckpt/{folder}/f{file}")
    return sorted(made)


def _refuse(monkeypatch: pytest.MonkeyPatch, directory: str, error: Exception) -> None:
    """Even root may not list this one."""
    entries = Local.entries

    def refusing(self: Local, below: str) -> Iterator[Entry]:
        if below == directory:
            raise error
        return entries(self, below)

    monkeypatch.setattr(Local, "entries", refusing)


def _asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    entries, asked = Local.entries, []

    def listening(self: Local, below: str) -> Iterator[Entry]:
        asked.append(below)
        return entries(self, below)

    monkeypatch.setattr(Local, "entries", listening)
    return asked
