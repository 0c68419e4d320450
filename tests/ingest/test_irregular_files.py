"""Files that never end or lead elsewhere are left out with a reason: in recordings, behind log
globs, as ``_metadata``.
"""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.flink_logs.tail import read_new
from ingest.lake.store import Lake
from ingest.recordings.rest_file import MAX_BAD_LINES, read_rest_file
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource, LogSource
from tests.ingest.recorded import RECORDINGS
from tests.ingest.test_shard_collector import rows

AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
E = RECORDINGS / "1.20.5" / "E"
LINE = "2026-11-21 04:00:00,000 WARN  org.apache.flink.A [] - Something happened, number {}.\n"
WAIT_S = 60


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_out(path: Path) -> None:
    (path.parent.parent.parent / "secret").write_text("root:x:0:0:\n" + LINE.format(1))
    path.symlink_to(path.parent.parent.parent / "secret")


def circle(path: Path) -> None:
    path.symlink_to(path)


def gone(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


HOSTILE = (fifo, device, link_out, circle, gone)


def imported(folder: Path, lake: Path) -> "subprocess.CompletedProcess[str]":
    """By the command, which a hang would stop for ever."""
    words = [
        sys.executable,
        "-m",
        "ingest",
        "import",
        str(folder),
        "--cluster",
        "c",
        "--lake",
        str(lake),
    ]
    return subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "sent" / "recording"
    (folder / "logs").mkdir(parents=True)
    shutil.copy(E / "rest.jsonl", folder)
    (folder / "logs" / "jm.log").write_text(LINE.format(7))
    return folder


@pytest.mark.parametrize("make", (fifo, device, link_out))
def test_a_recording_is_imported_without_what_does_not_end_or_leads_out(
    bundle: Path, make: Callable[[Path], None]
) -> None:
    read = ("rest-2.jsonl", "logs/tm.log", "logs/tm.log.gz")
    for name in (*read, "scenario.json"):
        make(bundle / name)
    done = imported(bundle, bundle.parent / "lake")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lake = Lake(str(bundle.parent / "lake"))
    assert len(rows(lake, "checkpoints")) > 100
    assert {row["message"] for row in rows(lake, "log_records")} == {
        "Something happened, number 7."
    }
    told = done.stdout.split()
    assert all(any(word.strip(",:;").endswith(name) for word in told) for name in read), done.stdout


@pytest.mark.parametrize("make", (link_out, circle, gone))
def test_a_recording_of_nothing_else_is_refused_in_a_sentence(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    folder = tmp_path / "sent" / "recording"
    folder.mkdir(parents=True)
    (folder.parent.parent / "x").mkdir()
    make(folder / "rest.jsonl")
    done = imported(folder, tmp_path / "lake")
    assert done.returncode == 2
    assert "rest.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


def test_links_that_stay_inside_are_followed_and_the_folder_itself_may_be_one(bundle: Path) -> None:
    (bundle / "logs" / "old.log").symlink_to("jm.log")
    (bundle / "rest.jsonl").rename(bundle / "answers")
    (bundle / "rest.jsonl").symlink_to(bundle / "answers")
    alias = bundle.parent / "alias"
    alias.symlink_to(bundle)
    done = imported(alias, bundle.parent / "lake")
    assert done.returncode == 0, done.stderr
    lake = Lake(str(bundle.parent / "lake"))
    assert len(rows(lake, "checkpoints")) > 100
    assert {Path(row["file"]).name for row in rows(lake, "log_records")} == {"jm.log", "old.log"}


def test_a_file_of_bad_lines_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "rest.jsonl").write_bytes(b"{\n" * (3 * MAX_BAD_LINES))
    skips = [recorded.skip for recorded in read_rest_file(tmp_path / "rest.jsonl") if recorded.skip]
    assert len(skips) < 200
    assert f"{MAX_BAD_LINES} of its lines could not be read" in skips[-1].detail


def tail(folder: Path, cursor: dict[str, Any] | None = None) -> Any:
    return read_new(LogSource((f"{folder}/**", f"{folder}/*.log*")), "c", cursor, AT, final=True)


@pytest.mark.parametrize("make", [fifo, device, circle, gone])
def test_what_a_glob_catches_besides_logs_stops_no_tailing(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    logs = tmp_path / "a" / "logs"
    (logs / "deep").mkdir(parents=True)
    (logs / "deep" / "round").symlink_to(logs)
    (logs / "directory.log").mkdir()
    (logs / "jm.log").write_text(LINE.format(1))
    (logs / "packed.log.gz").write_bytes(gzip.compress(LINE.format(2).encode()))
    (logs / "linked.log").symlink_to(logs / "jm.log")
    make(logs / "tm.log")
    make(logs / "tm.log.1.gz")
    found = tail(logs)
    told = {record.message for part in found.observed for record in part.records}
    assert told == {"Something happened, number 1.", "Something happened, number 2."}
    again = tail(logs, found.cursor)
    assert not again.observed


def test_a_log_that_becomes_a_fifo_between_two_readings_is_said_and_comes_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "jm.log"
    path.write_text(LINE.format(1))
    first = tail(tmp_path)
    path.unlink()
    os.mkfifo(path)
    second = tail(tmp_path, first.cursor)
    assert not second.observed
    path.unlink()
    path.write_text(LINE.format(1) + LINE.format(2))
    third = tail(tmp_path, second.cursor)
    assert "Something happened, number 2." in {
        record.message for part in third.observed for record in part.records
    }


@pytest.mark.parametrize("make", [fifo, device])
def test_a_cluster_whose_glob_names_a_fifo_is_told_of_it(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "jm.log")
    lake = Lake(str(tmp_path / "lake"))
    source = ClusterSource("c", logs=LogSource((str(tmp_path / "jm.log"),)))
    collect_shard([source], {}, lake, at=lambda: AT)
    assert not rows(lake, "log_records")
