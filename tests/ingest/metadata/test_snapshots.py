"""What a ``_metadata`` says as a whole, by its rows: the size and the type that Flink's own loader
reads in the same bytes.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ingest.metadata.evidence import rows_of
from ingest.metadata.files import MetadataFile
from ingest.metadata.references import SCHEMA, reference_batches
from ingest.metadata.snapshots import READ, snapshots
from ingest.records import Snapshot
from tests.ingest.metadata.writing import FIXTURES

NAMES = sorted(path.name.removesuffix(".metadata.gz") for path in FIXTURES.glob("*.metadata.gz"))
IN_WORDS = {"Checkpoint": False, "Savepoint": True}


def oracle(name: str) -> dict[str, Any]:
    first: dict[str, Any] = json.loads(
        gzip.decompress((FIXTURES / f"{name}.oracle.jsonl.gz").read_bytes()).partition(b"\n")[0]
    )
    return first


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> MetadataFile:
    folder = tmp_path / ("ab" * 16) / "chk-7"
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(
        gzip.decompress((FIXTURES / f"{request.param}.metadata.gz").read_bytes())
    )
    return MetadataFile(str(folder / "_metadata"), (folder / "_metadata").stat().st_size)


def read_columns(*files: MetadataFile) -> Iterator[pa.RecordBatch]:
    return (batch.select(list(READ)) for one in files for batch in reference_batches(one))


@pytest.mark.parametrize(("file", "name"), [(name, name) for name in NAMES], indirect=["file"])
def test_size_and_type_are_those_that_flinks_loader_reads(file: MetadataFile, name: str) -> None:
    header = oracle(name)
    *_, snapshot = rows_of(file, 1 << 24)
    assert isinstance(snapshot, Snapshot)
    assert (snapshot.state_bytes, snapshot.checkpoint_id) == (
        header["total_state_size"],
        header["checkpoint_id"],
    )
    properties = header["properties"]
    assert snapshot.is_savepoint is (
        None if properties is None else IN_WORDS[properties.partition("Type{")[0]]
    )
    assert (snapshot.job_id, snapshot.metadata_bytes) == ("ab" * 16, header["file_size"])
    assert list(snapshots(read_columns(file))) == [snapshot]


def handles(sizes: list[int], whole: bool = True, reading: str = "a") -> pa.RecordBatch:
    common = {
        "metadata_path": "file:/c/_metadata",
        "metadata_bytes": 9,
        "reader_version": 2,
        "checkpoint_type": None,
        "reading": reading,
    }
    rows = [
        common | {"ordinal": place, "state_bytes": size}
        for place, size in enumerate(sizes, start=1)
    ]
    rows += [common | {"ordinal": 0, "checkpoint_type": "Terminate Savepoint"}] if whole else []
    schema = pa.schema([*(SCHEMA.field(name) for name in READ), pa.field("reading", pa.string())])
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def test_of_a_file_that_was_not_read_to_its_end_nothing_is_said() -> None:
    assert list(snapshots([handles([5, 6], whole=False)])) == []


def test_handles_of_one_file_may_come_in_several_batches() -> None:
    (found,) = snapshots([handles([5, 6], whole=False), handles([7])])
    assert (found.state_bytes, found.is_savepoint) == (18, True)


def test_sizes_that_no_state_can_have_are_unknown_and_not_what_an_overflow_leaves() -> None:
    (found,) = snapshots([handles([2**63 - 1, 2**63 - 1, 3])])
    assert found.state_bytes is None
    (largest,) = snapshots([handles([2**62, 2**62 - 1])])
    assert largest.state_bytes == 2**63 - 1


def test_several_readings_of_one_file_are_not_added_up() -> None:
    assert {
        one.state_bytes
        for one in snapshots([handles([5, 6]), handles([5, 6], reading="b")], ("reading",))
    } == {11}
