"""Finding `_metadata`, and the command that prints them."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest

from ingest.__main__ import main
from ingest.metadata.files import directory_of, find
from tests.ingest.metadata import samples
from tests.ingest.metadata.test_recorded import oracle, unpacked

JOB = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number, written in ((7, samples.V4), (8, samples.V5)):
        checkpoint = tmp_path / JOB / f"chk-{number}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "_metadata").write_bytes(written)
        (checkpoint / "data").write_bytes(b"not metadata")
    return tmp_path


def test_directories_are_searched_and_files_taken_as_they_are(root: Path) -> None:
    below, skips = find([str(root)])
    single, _ = find([str(root / JOB / "chk-7" / "data")])
    assert [file.path for file in below] == [
        str(root / JOB / f"chk-{number}" / "_metadata") for number in (7, 8)
    ] and not skips
    assert (
        below[0].size == len(samples.V4) and below[0].modified and below[0].modified.tzinfo is UTC
    )
    assert [file.path for file in single] == [str(root / JOB / "chk-7" / "data")]


def test_what_is_not_there_is_said(root: Path) -> None:
    (root / "empty").mkdir()
    files, skips = find([str(root / "nowhere"), str(root / "empty"), str(root / JOB)])
    assert len(files) == 2 and [skip.reason for skip in skips] == ["unreadable_file", "no_metadata"]


def test_flinks_spelling_of_local_paths_and_uris_of_other_storage_are_read() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/chk-7/_metadata", samples.V4)
    (file,), _ = find(["memory://bucket"])
    assert file.path == "memory:///bucket/chk-7/_metadata" and list(file.pieces())
    assert directory_of("s3://bucket/job/chk-7/_metadata") == "s3://bucket/job/chk-7"
    assert (
        directory_of("/ckpt/chk-7/_metadata")
        == directory_of("file:/ckpt/chk-7/_metadata")
        == "file:/ckpt/chk-7"
    )


def test_local_time_is_kept_in_utc(root: Path) -> None:
    path = root / JOB / "chk-7" / "_metadata"
    os.utime(path, (1_700_000_000, 1_700_000_000))
    (file,), _ = find([str(path)])
    assert file.modified == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_json_has_a_header_and_a_line_for_each_handle(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "1.20.5-A-3ba422-chk-1"
    (root / "recorded").mkdir()
    (root / "recorded" / "_metadata").write_bytes(unpacked(name))
    assert main(["metadata", "--json", str(root / "recorded")]) == 0
    header, *found = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    theirs, *expected = oracle(name)
    assert (header["checkpoint_id"], header["handles"], header["written_by"]) == (
        1,
        len(found),
        "Flink 1.16 to 1.20",
    )
    assert set(theirs) <= set(header)
    keys = (
        "operator_id",
        "subtask",
        "kind",
        "size",
        "path_or_null",
        "state_handle_id",
        "keyed_handle_id",
    )
    assert [[line.get(key) for key in keys] for line in found] == [
        [line.get(key) for key in keys] for line in expected
    ]


def test_the_table_has_operators_sizes_and_directories(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metadata", str(root / JOB / "chk-8")]) == 0
    out = capsys.readouterr().out
    assert "Checkpoint 7, format 5 (Flink 2.0), 2 operators, 8 handles, 170 B of state" in out
    assert (
        "Käse \U0001f9c0\ufffd" in out and "\0" not in out
    )  # nothing in a file may steer a terminal
    assert "1 of 2" in out and "file:/ckpt/job/shared  (not of this job)" in out


def test_a_summary_is_one_line_for_each_file(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["metadata", "--summary", str(root)]) == 0
    assert main(["metadata", "--summary", "--json", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and json.loads(lines[3])["operators"][0]["uid"] == "uid-1"


def test_a_damaged_file_prints_nothing_of_itself_and_the_others_go_on(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = root / JOB / "chk-7" / "_metadata"
    damaged.write_bytes(samples.V4[:-1])
    assert main(["metadata", "--json", str(root)]) == 1
    out, err = capsys.readouterr()
    assert str(damaged) not in out and json.loads(out.splitlines()[0])["version"] == 5
    assert f"skipped {damaged}: at byte 1,7" in err and "expected" in err and "Traceback" not in err


def test_files_elsewhere_are_not_of_the_job_though_a_directory_there_has_its_id(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "1.20.5-H-0e0a92-chk-11"
    job = "0e0a9226e66450b804703de8c16027eb"
    moved = root / "copy" / job / "chk-11"
    moved.mkdir(parents=True)
    (moved / "_metadata").write_bytes(unpacked(name))
    assert main(["metadata", "--summary", "--json", str(moved)]) == 0
    directories = json.loads(capsys.readouterr().out)["directories"]
    assert [(directory["references"], directory["own"]) for directory in directories] == [
        (8, False),
        (8, False),
    ]
