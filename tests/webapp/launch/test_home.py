import os
import stat
from pathlib import Path

import pytest

from webapp.launch.home import Home, InstanceRuns


def test_a_second_instance_with_the_same_home_is_refused_in_one_sentence(home: Home) -> None:
    with home.lock("process 12, http://127.0.0.1:8000/"), pytest.raises(InstanceRuns) as refusal:
        home.lock("process 13")
    assert "process 12, http://127.0.0.1:8000/" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_home_is_free_again_after_its_holder(home: Home) -> None:
    home.lock("process 12").close()
    home.lock("process 13").close()


def test_a_refused_instance_leaves_the_holders_name_alone(home: Home) -> None:
    with home.lock("process 12"):
        for _ in range(2):
            with pytest.raises(InstanceRuns, match="process 12"):
                home.lock("process 13")


def test_folders_are_closed_to_other_users(home: Home) -> None:
    assert stat.S_IMODE(home.folder("redis").stat().st_mode) == 0o700


def test_a_socket_lies_in_the_home(home: Home) -> None:
    assert (
        home.root in Home(home.root).socket_path("redis.sock").parents
        or len(os.fsencode(home.root)) > 70
    )


def test_a_socket_of_a_deep_home_still_fits_its_address(tmp_path: Path) -> None:
    deep = Home(tmp_path.joinpath(*["a-rather-long-folder-name"] * 5))
    path = deep.socket_path("redis.sock")
    assert len(os.fsencode(path)) < 104
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert deep.socket_path("redis.sock") == path
    path.parent.rmdir()


def test_a_socket_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    deep = Home(tmp_path.joinpath(*["another-rather-long-folder-name"] * 5))
    folder = deep.socket_path("redis.sock").parent
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="belongs to somebody else"):
        deep.socket_path("redis.sock")
    folder.rmdir()


def test_the_redis_note_is_private_and_goes_with_the_server(home: Home) -> None:
    home.folder()
    home.record_redis("unix:///x")
    note = home.root / "redis.url"
    assert note.read_text() == "unix:///x\n"
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    home.forget_redis()
    assert not note.exists()
