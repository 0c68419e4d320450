"""Columns and lake rows hold what the single handles hold."""

import io
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from ingest.lake.store import Lake
from ingest.metadata import columns
from ingest.metadata.dialects import MetadataError
from ingest.metadata.files import MetadataFile
from ingest.metadata.pieces import FileRun, Handle, KeyedState
from ingest.metadata.reader import read_pieces
from ingest.metadata.references import key_of, reference_batches, references
from ingest.records import Observed
from tests.ingest.metadata import samples
from tests.ingest.metadata import writing as w
from tests.ingest.metadata.finding import find
from tests.ingest.metadata.reading import DIRECTORY, pieces, rows
from tests.ingest.metadata.test_damage import VALID

AT = datetime(2026, 1, 2, tzinfo=UTC)


def table(written: bytes) -> pa.Table:
    made = pa.Table.from_batches(
        columns.batches(read_pieces(lambda: io.BytesIO(written), DIRECTORY)), schema=columns.SCHEMA
    )
    made.validate(full=True)
    return made


def expected(handle: Handle, ordinal: int) -> dict[str, object]:
    stream, keyed = handle.stream, handle.keyed
    directories = handle.managed_directories or (None, None)
    return {
        "ordinal": ordinal,
        "operator_id": handle.operator.operator_id,
        "operator_name": handle.operator.name,
        "subtask": handle.subtask,
        "kind": handle.kind,
        "state_class": handle.state_class,
        "handle_class": stream and stream.handle_class,
        "path": stream and stream.path,
        "written_path": stream and stream.written_path,
        "offset_bytes": stream and stream.offset,
        "size_bytes": stream and stream.bytes,
        "state_bytes": handle.state_bytes,
        "inline_at": stream and stream.inline_at,
        "name": stream and stream.name,
        "local_name": handle.local_name,
        "backend_id": keyed and keyed.backend_id,
        "handle_id": keyed and keyed.handle_id,
        "checkpointed_bytes": keyed and keyed.checkpointed_bytes,
        "task_owned_directory": directories[0],
        "shared_directory": directories[1],
        "states": handle.states
        if handle.states is None
        else [state._asdict() for state in handle.states],
    }


@pytest.mark.parametrize("name", VALID)
def test_each_row_is_its_handle(name: str) -> None:
    assert table(VALID[name]).to_pylist() == [
        expected(handle, ordinal) for ordinal, handle in enumerate(rows(VALID[name]))
    ]


def test_batches_go_on_where_the_last_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "BATCH_ROWS", 3)
    made = table(samples.V4)
    assert made.column("ordinal").num_chunks > 3
    assert made.to_pylist() == [
        expected(handle, ordinal) for ordinal, handle in enumerate(rows(samples.V4))
    ]


@pytest.mark.parametrize("odd", [-1, 0, 1, 7, 8, 9, 150, 299])
def test_runs_of_alike_files_and_what_interrupts_them_read_the_same(odd: int) -> None:
    shared = {
        f"{number:06d}{'x' if number == odd else ''}.sst": w.file(
            number, f"file:/shared/{number:06d}"
        )
        for number in range(300)
    }
    written = w.metadata(
        4, [w.operator(4, [w.subtask(4, 0, keyed=w.incremental(w.NULL, shared, {}, new=True))])]
    )
    found = rows(written)[:-1]
    assert [handle.local_name for handle in found] == list(shared)
    assert [handle.stream and (handle.stream.path, handle.stream.bytes) for handle in found] == [
        (f"file:/shared/{n:06d}", n) for n in range(300)
    ]
    assert table(written).to_pylist()[:-1] == [
        expected(handle, ordinal) for ordinal, handle in enumerate(found)
    ]


def test_many_alike_files_stay_bytes() -> None:
    (state,) = [piece for piece in pieces(many_ascii(5_000)) if isinstance(piece, KeyedState)]
    assert [part.files for part in state.parts if isinstance(part, FileRun)] == [5_000]


def many_ascii(count: int) -> bytes:
    shared = {
        f"{number:06d}.sst": w.file(2**40 + number, f"file:/{'d' * 150}/{number:06d}")
        for number in range(count)
    }
    return w.metadata(
        4, [w.operator(4, [w.subtask(4, 0, keyed=w.incremental(w.NULL, shared, {}, new=True))])]
    )


def test_paths_beyond_ascii_are_read_one_by_one() -> None:
    shared = {
        f"{number:06d}.sst": w.file(1, f"file:/{'é' if number % 7 else 'ee'}/{number:06d}")
        for number in range(50)
    }
    written = w.metadata(
        4, [w.operator(4, [w.subtask(4, 0, keyed=w.incremental(w.NULL, shared, {}, new=True))])]
    )
    assert [row["path"] for row in table(written).to_pylist()[:-1]] == [
        f"file:/{'é' if n % 7 else 'ee'}/{n:06d}" for n in range(50)
    ]


def stored(folder: Path, written: bytes) -> MetadataFile:
    checkpoint = folder / ("ab" * 16) / "chk-7"
    checkpoint.mkdir(parents=True)
    (checkpoint / "_metadata").write_bytes(written)
    (file,) = find(str(folder))
    return file


def test_lake_rows_end_with_the_row_of_the_file_itself(tmp_path: Path) -> None:
    file = stored(tmp_path, samples.V4)
    *handles, whole = references(file)
    assert [row.ordinal for row in handles] == list(range(1, len(rows(samples.V4)) + 1))
    assert (whole.ordinal, whole.kind, whole.handles, whole.checkpoint_type) == (
        0,
        "file",
        len(handles),
        "Checkpoint",
    )
    assert {row.job_id for row in (*handles, whole)} == {"ab" * 16} and whole.metadata_bytes == len(
        samples.V4
    )
    assert handles[0].states and [state.mode for state in handles[0].states] == [
        "SPLIT_DISTRIBUTE",
        "UNION",
        "BROADCAST",
    ]


def test_lake_rows_of_a_cut_file_lack_the_row_of_the_file_itself(tmp_path: Path) -> None:
    file = stored(tmp_path, samples.V4[:-1])
    made: list[pa.RecordBatch] = []
    with pytest.raises(MetadataError):
        made.extend(reference_batches(file))
    assert all(0 not in batch.column("ordinal").to_pylist() for batch in made)


def test_a_row_of_the_lake_has_the_key_of_its_file(tmp_path: Path) -> None:
    file = stored(tmp_path, samples.V3_1_15)
    lake = Lake(str(tmp_path / "lake"))
    lake.append([Observed("c", AT, "storage", tuple(references(file)))])
    (kept,) = lake.read(
        "references", where={"ordinal": 0}, from_time=AT, to_time=AT, limit=10
    ).to_pylist()
    known = key_of(
        MetadataFile(kept["metadata_path"], kept["metadata_bytes"], kept["metadata_modified"])
    )
    assert key_of(file) == known
    assert key_of(MetadataFile(file.path, (file.size or 0) + 1, file.modified)) != known
