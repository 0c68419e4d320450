"""Files of others keep the modes and owners they had, however private the process is that moves
them.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.storage import tree


@pytest.fixture(autouse=True)
def _private() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    """As Flink's user left it."""
    folder = tmp_path / "storage"
    for path, mode in ((folder, 0o775), (folder / "job", 0o755), (folder / "job/chk-1", 0o750)):
        path.mkdir()
        path.chmod(mode)
    state = folder / "job/chk-1/state"
    state.write_bytes(b"x")
    state.chmod(0o644)
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, 65534)
    return folder


def told(path: Path) -> tuple[int, int]:
    return stat.S_IMODE(path.stat().st_mode), path.stat().st_uid


@pytest.mark.parametrize("is_copy", [False, True])
def test_what_is_put_back_is_as_readable_as_it_was(
    storage: Path, tmp_path: Path, is_copy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_copy:  # as on another device

        def refuse(*args: object, **options: object) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    source, target = storage / "job/chk-1/state", tmp_path / "quarantine/plan/state"
    before = told(source)
    tree.move(str(source), str(target))
    assert told(target) == before
    (storage / "job/chk-1").rmdir()
    (storage / "job").rmdir()
    tree.move(str(target), str(source))
    assert told(source) == before
    assert [told(path) for path in (storage / "job", storage / "job/chk-1")] == [told(storage)] * 2


def test_a_folder_for_everybody_is_not_followed_in_that(tmp_path: Path) -> None:
    everybody = tmp_path / "everybody"
    everybody.mkdir()
    everybody.chmod(0o1777)
    (everybody / "file").write_bytes(b"x")
    tree.move(str(everybody / "file"), str(everybody / "new/file"))
    assert stat.S_IMODE((everybody / "new").stat().st_mode) == 0o775
