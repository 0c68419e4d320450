"""One file at a time, local and in an object store: moved whole or not at all, never over another,
only while it is as expected.
"""

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest

from ingest.storage import copying, tree


@pytest.fixture(params=["local", "memory", "across"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Directories to move from and to."""
    memory = fsspec.filesystem("memory")
    here = {"local": str(tmp_path / "ckpt"), "memory": "memory://ckpt", "across": "memory://ckpt"}[
        request.param
    ]
    there = {
        "local": str(tmp_path / "quarantine"),
        "memory": "memory://quarantine",
        "across": str(tmp_path / "quarantine"),
    }[request.param]
    yield here, there
    memory.store.clear()


def _write(path: str, content: bytes = b"state") -> str:
    with fsspec.open(path, "wb", auto_mkdir=True) as out:
        out.write(content)
    return path


def _read(path: str) -> bytes:
    with fsspec.open(path, "rb") as stream:
        content: bytes = stream.read()
    return content


def test_a_move_takes_the_file_with_its_bytes(place: tuple[str, str]) -> None:
    path, target = _write(f"{place[0]}/job/shared/a"), f"{place[1]}/1/job/shared/a"
    tree.move(path, target, tree.stat(path))
    assert (_read(target), tree.exists(path), tree.exists(target)) == (b"state", False, True)


def test_and_back_again(place: tuple[str, str]) -> None:
    path, target = _write(f"{place[0]}/a"), f"{place[1]}/a"
    tree.move(path, target)
    tree.move(target, path)
    assert (_read(path), tree.exists(target)) == (b"state", False)


def test_nothing_is_overwritten(place: tuple[str, str]) -> None:
    path, target = _write(f"{place[0]}/a"), _write(f"{place[1]}/a", b"other")
    with pytest.raises(tree.Occupied, match="exists"):
        tree.move(path, target)
    assert (_read(path), _read(target)) == (b"state", b"other")


def test_a_file_that_changed_is_left_alone(place: tuple[str, str]) -> None:
    path = _write(f"{place[0]}/a")
    expected = replace(tree.stat(path), bytes=4)
    for attempt in (
        lambda: tree.move(path, f"{place[1]}/a", expected),
        lambda: tree.delete(path, expected),
    ):
        with pytest.raises(tree.Changed, match="5 B"):
            attempt()
    assert tree.exists(path)
    assert not tree.exists(f"{place[1]}/a")


def test_what_is_gone_is_said_to_be_gone(place: tuple[str, str]) -> None:
    for attempt in (
        tree.stat,
        tree.delete,
        lambda path: tree.move(path, f"{place[1]}/a"),
        lambda path: tree.copy(path, f"{place[1]}/a"),
    ):
        with pytest.raises(tree.Gone, match="no file"):
            attempt(f"{place[0]}/a")


def test_a_directory_is_never_moved_or_deleted(place: tuple[str, str]) -> None:
    _write(f"{place[0]}/shared/a")
    for attempt in (tree.delete, lambda path: tree.move(path, f"{place[1]}/a"), tree.exists):
        with pytest.raises(tree.TreeError, match="not a file"):
            attempt(f"{place[0]}/shared")
    assert tree.exists(f"{place[0]}/shared/a")


@pytest.mark.parametrize("place", ["memory", "across"], indirect=True)
def test_a_move_cut_off_after_its_copy_is_finished_by_repeating_it(place: tuple[str, str]) -> None:
    path, target = _write(f"{place[0]}/a"), f"{place[1]}/a"
    tree.copy(path, target)
    tree.move(path, target)
    assert (_read(target), tree.exists(path)) == (b"state", False)


def test_a_local_move_cut_off_between_link_and_unlink_is_finished_by_repeating_it(
    tmp_path: Path,
) -> None:
    path, target = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"state")
    os.link(path, target)
    tree.move(str(path), str(target))
    assert not path.exists()
    assert target.read_bytes() == b"state"


def test_a_local_move_keeps_the_time_and_the_file_itself(tmp_path: Path) -> None:
    path, target = tmp_path / "a", tmp_path / "q" / "a"
    path.write_bytes(b"state")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    before = path.stat()
    tree.move(str(path), str(target))
    assert (target.stat().st_ino, target.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("reason", [errno.EXDEV, errno.EPERM])
def test_across_devices_a_verified_copy_replaces_the_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    link = os.link

    def other_device(source: Path, target: Path, **options: bool) -> None:
        if reason == errno.EPERM or Path(source).parent != Path(target).parent:
            raise OSError(reason, os.strerror(reason))
        link(source, target, **options)

    monkeypatch.setattr(os, "link", other_device)
    path, target = tmp_path / "a", tmp_path / "q" / "a"
    path.write_bytes(b"state")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    tree.move(str(path), str(target))
    assert (target.read_bytes(), target.stat().st_mtime, path.exists()) == (
        b"state",
        1_700_000_000,
        False,
    )
    assert list(target.parent.iterdir()) == [target]


def test_a_copy_with_other_bytes_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = tmp_path / "a", tmp_path / "q" / "a"
    path.write_bytes(b"state")
    written = copying.digest_of
    monkeypatch.setattr(
        copying,
        "digest_of",
        lambda *given: written(*given) if len(given) > 2 else "of a disk that lies",
    )
    with pytest.raises(tree.TreeError, match="other bytes"):
        tree.copy(str(path), str(target))
    assert path.exists()
    assert list(target.parent.iterdir()) == []


def test_a_copy_that_is_there_already_is_left_as_it_is(place: tuple[str, str]) -> None:
    path, target = _write(f"{place[0]}/a"), _write(f"{place[1]}/a")
    tree.copy(path, target)
    with pytest.raises(tree.Occupied):
        tree.copy(_write(f"{place[0]}/b", b"other"), target)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_not_to_be_allowed_to_look_is_not_to_know_that_it_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0)
    try:
        with pytest.raises(tree.TreeError, match="Permission denied"):
            tree.exists(str(folder / "a"))
    finally:
        folder.chmod(0o700)


def test_an_unknown_file_system_is_named(tmp_path: Path) -> None:
    with pytest.raises(tree.TreeError, match="nosuch"):
        tree.stat("nosuch://bucket/a")


def test_a_client_with_errors_of_its_own_is_no_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of S3 says with neither ``OSError`` nor ``ValueError`` that nobody signed it in."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_CONFIG_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)
    there = fsspec.get_filesystem_class("s3")
    there.clear_instance_cache()
    try:
        for act in (tree.exists, tree.delete, lambda path: tree.move(path, f"{path}-moved")):
            with pytest.raises(tree.TreeError, match=r"looked at \(Unable to locate credentials\)"):
                act("s3://nobodys-bucket/a")
    finally:
        there.clear_instance_cache()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"state")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(tree.TreeError, match="not a file"):
        tree.delete(str(tmp_path / "link"))
