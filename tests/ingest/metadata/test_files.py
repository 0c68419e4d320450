"""Finding `_metadata`."""

import os
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest

from ingest.metadata.files import directory_of, find
from tests.ingest.metadata import samples

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
