"""Files that a cluster's globs match are read only where that is allowed, whatever links lead to them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.flink_logs.files import find
from ingest.history.archives import read_archives
from ingest.local_directories import refusal_of_entry

LINE = "2026-11-21 12:00:00,000 INFO  org.apache.flink.Test [] - line\n"


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
    "pattern", ["{home}/secrets/*", "{home}/secrets/field_keys", "file://{home}/secrets/*", "{home}/../home/*/*", "{above}/*/*/*"]
)
def test_nothing_of_weirs_own_folder_is_read(home: Path, pattern: str) -> None:
    files, skips = find([pattern.format(home=home, above=home.parent)])
    assert not files and "Weir's own folder" in skips[0].detail


def test_a_link_into_weirs_own_folder_is_not_followed(home: Path, tmp_path: Path) -> None:
    good = logs(tmp_path / "logs")
    (tmp_path / "logs" / "innocent.log").symlink_to(home / "secrets" / "field_keys")
    files, skips = find([f"{tmp_path}/logs/*.log"])
    assert [file.path for file in files] == [str(good)] and not any("secrets" in skip.subject for skip in skips)


def test_lines_that_wait_in_a_spool_of_weirs_own_are_read(home: Path) -> None:
    waiting = logs(home / "pushed" / "payments")
    files, skips = find([f"{home}/pushed/payments/*"])
    assert [file.path for file in files] == [str(waiting)] and not skips


def test_only_listed_directories_are_read(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = logs(tmp_path / "mine"), logs(tmp_path / "other")
    (tmp_path / "mine" / "link.log").symlink_to(other)
    monkeypatch.setenv("WEIR_READ_DIRS", f"{tmp_path}/mine, {home}")
    files, skips = find([f"{tmp_path}/*/*.log", f"{home}/secrets/*"])
    assert [file.path for file in files] == [str(mine)] and len(skips) == 2
    assert refusal_of_entry(f"{tmp_path}/other/*.log") and not refusal_of_entry(f"{tmp_path}/mine/*.log")


def test_a_directory_whose_name_begins_alike_is_another_one(home: Path, tmp_path: Path) -> None:
    assert not refusal_of_entry(f"{home}-logs/*.log") and refusal_of_entry(str(home))


def test_neither_the_lake_elsewhere_nor_processes_are_read(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_LAKE_ROOT", f"file://{tmp_path}/lake")
    logs(tmp_path / "lake")
    files, skips = find([f"{tmp_path}/lake/*", "/proc/self/environ"])
    assert not files and len(skips) == 2
    assert refusal_of_entry(f"{tmp_path}/lake/*") and refusal_of_entry("/proc/*/environ")


def test_archives_are_not_read_out_of_weirs_own_folder(home: Path) -> None:
    read = read_archives(str(home / "secrets"), "payments", None, datetime.now(UTC))
    assert not read.observed and read.skips


def test_recordings_that_weir_plays_are_read_out_of_its_own_folder(home: Path) -> None:
    played = logs(home / "demo" / "recording" / "logs")
    files, skips = find([f"{home}/demo/*/logs/*"])
    assert [file.path for file in files] == [str(played)] and not skips
    assert not refusal_of_entry(f"{home}/demo/*/logs/*")
