"""Files that a cluster's globs match are read only where that is allowed, whatever links lead to
them.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.flink_logs.files import find
from ingest.flink_logs.probe import probe_logs
from ingest.local_directories import NotAllowed, refusal_of_entry
from ingest.source_read import ProbeNotes
from ingest.sources import LogSource
from ingest.storage.listing import list_root
from ingest.storage.roots import Root

LINE = "2026-11-21 12:00:00,000 INFO  org.apache.flink.Test [] - line\n"
ARCHIVE = "a" * 32


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / "secrets").mkdir(parents=True)
    (folder / "secrets" / "field_keys").write_text(LINE)
    monkeypatch.setenv("WEIR_HOME", str(folder))
    return folder


def logs(folder: Path, name: str = "flink.log") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(LINE)
    return folder / name


@pytest.mark.parametrize(
    "pattern",
    [
        "{home}/secrets/*",
        "{home}/secrets/field_keys",
        "file://{home}/secrets/*",
        "{home}/../home/*/*",
        "{above}/*/*/*",
    ],
)
def test_nothing_of_weirs_own_folder_is_read(home: Path, pattern: str) -> None:
    files, skips = find([pattern.format(home=home, above=home.parent)])
    assert not files and "Weir's own folder" in skips[0].detail


def test_a_link_into_weirs_own_folder_is_not_followed(home: Path, tmp_path: Path) -> None:
    good = logs(tmp_path / "logs")
    (tmp_path / "logs" / "innocent.log").symlink_to(home / "secrets" / "field_keys")
    files, skips = find([f"{tmp_path}/logs/*.log"])
    assert [file.path for file in files] == [str(good)] and not any(
        "secrets" in skip.subject for skip in skips
    )


def test_lines_that_wait_for_a_cluster_are_read_of_that_one_alone(
    home: Path, tmp_path: Path
) -> None:
    waiting, glob = logs(home / "pushed" / "payments"), f"{home}/pushed/payments/*"
    (tmp_path / "theirs").symlink_to(home / "pushed" / "payments")
    files, skips = find([glob], [glob])
    assert [file.path for file in files] == [str(waiting)] and not skips
    for pattern in (glob, f"{tmp_path}/theirs/*"):
        files, skips = find([pattern])
        assert not files and skips


def test_what_the_demo_plays_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = logs(home / "demo" / "demo-web" / "logs")
    monkeypatch.setenv("WEIR_READ_DIRS", "/var/log/flink")
    files, skips = find([f"{home}/demo/*/logs/*.log"])
    assert [file.path for file in files] == [str(played)] and not skips
    assert not refusal_of_entry(f"{home}/demo/demo-web/logs/*.log*")


def test_neither_the_lake_elsewhere_nor_processes_are_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_LAKE_ROOT", f"file://{tmp_path}/lake")
    logs(tmp_path / "lake")
    files, skips = find(
        [f"{tmp_path}/lake/*", "/proc/self/environ", "/proc/self/root/proc/self/environ"]
    )
    assert not files and len(skips) == 3
    assert refusal_of_entry(f"{tmp_path}/lake/*") and refusal_of_entry("/proc/*/environ")


def test_a_file_that_became_a_link_after_it_was_found_is_not_opened(
    home: Path, tmp_path: Path
) -> None:
    found = logs(tmp_path / "logs")
    (file,), _ = find([str(found)])
    found.unlink()
    found.symlink_to(home / "secrets" / "field_keys")
    with pytest.raises(NotAllowed):
        file.open()


@pytest.mark.parametrize(
    "chain", ["simplecache::file://{}", "filecache::{}", "blockcache::local://{}", "reference://{}"]
)
def test_another_file_system_does_not_lead_to_files_of_this_machine(home: Path, chain: str) -> None:
    uri = chain.format(home / "secrets" / "field_keys")
    files, skips = find([uri])
    assert not files and skips and refusal_of_entry(uri)


@pytest.mark.parametrize("spelling", ["{}", "file:{}", "file://{}", "local:{}", "local://{}"])
def test_no_spelling_of_a_path_is_a_way_around(home: Path, spelling: str) -> None:
    assert refusal_of_entry(spelling.format(home / "secrets"))
    assert find([spelling.format(home / "secrets" / "field_keys")])[1]


def test_only_listed_directories_are_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = logs(tmp_path / "mine"), logs(tmp_path / "other")
    (tmp_path / "mine" / "link.log").symlink_to(other)
    monkeypatch.setenv("WEIR_READ_DIRS", f"{tmp_path}/mine, {home}")
    files, skips = find([f"{tmp_path}/*/*.log", f"{home}/secrets/*"])
    assert [file.path for file in files] == [str(mine)] and len(skips) == 2
    assert refusal_of_entry(f"{tmp_path}/other/*.log") and not refusal_of_entry(
        f"{tmp_path}/mine/*.log"
    )


def test_a_directory_whose_name_begins_alike_is_another_one(home: Path, tmp_path: Path) -> None:
    assert not refusal_of_entry(f"{home}-logs/*.log") and refusal_of_entry(str(home))


def test_a_root_that_became_a_link_into_weirs_own_folder_is_not_listed(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "checkpoints").symlink_to(home / "secrets")
    listed = list_root(Root.of(f"{tmp_path}/checkpoints"), f"{tmp_path}/listing")
    assert not listed.files and listed.unlisted


def test_a_connection_test_says_what_is_not_read(home: Path) -> None:
    found = ProbeNotes()
    probe_logs(LogSource((f"{home}/secrets/*",)), datetime.now(UTC), found)
    assert not found.sees and found.misses
