"""What the bytes of a file tell that is no ``_metadata``, or one that cannot be read."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.metadata.dialects import MAGIC
from ingest.metadata.files import MetadataFile
from ingest.metadata.unread import Content, content_of

JOB = "0123456789abcdef" * 2


def content(path: Path, written: bytes, size: int | None = None) -> Content:
    path.write_bytes(written)
    return content_of(MetadataFile(str(path), len(written) if size is None else size))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "_metadata"


def test_a_summary_of_parquet_is_foreign(path: Path) -> None:
    pq.write_metadata(pa.schema([("a", pa.int64())]), path)
    assert content(path, path.read_bytes()).is_foreign


def test_complete_json_is_foreign(path: Path) -> None:
    for document in ({"version": 3}, [1, 2]):
        assert content(path, json.dumps(document).encode()).is_foreign


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"PAR1",
        b"PAR1" + b"\0" * 99,
        b"PAR1" + b"\0" * 8 + (99).to_bytes(4, "little") + b"PAR1",
        b'{"version": 3',
        b"3",
        b"\0" * 99,
        MAGIC.to_bytes(4, "big") + b"{}",
        b"[" * 100_000,
    ],
)
def test_what_is_cut_off_or_nothing_known_is_not(path: Path, written: bytes) -> None:
    assert not content(path, written).is_foreign


def test_a_file_of_another_length_than_was_listed_is_not(path: Path) -> None:
    assert not content(path, b"[1, 2]", size=9).is_foreign


def test_only_flink_begins_with_its_magic_number(path: Path) -> None:
    assert content(path, MAGIC.to_bytes(4, "big")).has_magic
    assert not content(path, b"I`g,").has_magic


def test_the_jobs_are_named_whose_directories_it_holds_also_across_pieces(path: Path) -> None:
    for before in (0, (1 << 20) - 20, (1 << 20) - 1, 1 << 20):
        written = b"." * before + f"s3://b/{JOB}/shared/x".encode() + b"\0"
        assert content(path, written).named_jobs == (JOB,)
    for other in (f"/{JOB}", f"/{JOB}0/", f"/{JOB.upper()}/"):
        assert content(path, other.encode()).named_jobs == ()


@pytest.mark.parametrize("before", [0, 1000, (1 << 20) - 300, 1 << 20])
def test_nobody_knows_which_jobs_it_named_where_a_sector_of_it_is_zeros(
    path: Path, before: int
) -> None:
    written = b"." * before + bytes(512) + f"s3://b/{JOB}/shared/x".encode()
    assert content(path, written).named_jobs is None
    assert content(path, written[1 if not before else before + 1 :]).named_jobs == (JOB,)


def test_its_first_bytes_recognise_it(path: Path) -> None:
    one = content(path, b"a" * 5000)
    assert one.head_sha256 == content(path, b"a" * 4096 + b"b" * 904).head_sha256
    assert one.head_sha256 != content(path, b"b" + b"a" * 4999).head_sha256
