"""What Python workers write themselves."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from spark_jobs import worker_rows
from spark_jobs.worker_rows import WorkerRows

SCHEMA = pa.schema([("number", pa.int64()), ("text", pa.string())])
ROWS, TASKS = 1000, 4


def _texts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        numbers = batch.column(0)
        yield pa.RecordBatch.from_arrays(
            [numbers, pa.array([f"text {number}" for number in numbers.to_pylist()])], schema=SCHEMA
        )


def _texts_of_first_quarter(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in _texts(batches):
        yield batch.filter(
            pa.array([number < ROWS // TASKS for number in batch.column(0).to_pylist()])
        )


def _texts_then_failure(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from _texts(batches)
    raise ValueError("no more of these")


def _read(folder: Path, files: Iterable[str]) -> list[dict[str, object]]:
    return sorted(
        (row for file in files for row in pq.read_table(folder / file).to_pylist()),
        key=lambda row: row["number"],
    )


def _wanted(rows: int) -> list[dict[str, object]]:
    return [{"number": number, "text": f"text {number}"} for number in range(rows)]


def test_files_hold_what_the_frame_holds(spark: SparkSession, tmp_path: Path) -> None:
    made = WorkerRows(spark.range(0, ROWS, 1, TASKS), _texts, SCHEMA)
    written = made.write(str(tmp_path / "out"))
    assert (written.rows, len(written.files)) == (ROWS, TASKS)
    assert _read(tmp_path / "out", written.files) == _wanted(ROWS)
    assert sorted(made.frame().collect()) == [tuple(row.values()) for row in _wanted(ROWS)]
    assert sorted(spark.read.parquet(str(tmp_path / "out")).collect()) == sorted(
        made.frame().collect()
    )


def test_a_task_that_makes_nothing_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    written = WorkerRows(spark.range(0, ROWS, 1, TASKS), _texts_of_first_quarter, SCHEMA).write(
        str(tmp_path)
    )
    assert written.rows == ROWS // TASKS
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet")] == list(
        written.files
    )
    assert _read(tmp_path, written.files) == _wanted(ROWS // TASKS)


def test_no_rows_at_all_make_no_file(spark: SparkSession, tmp_path: Path) -> None:
    assert WorkerRows(spark.range(0), _texts, SCHEMA).write(str(tmp_path)).files == ()


def test_files_that_lie_there_already_are_not_among_those_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    made = WorkerRows(spark.range(0, ROWS, 1, TASKS), _texts, SCHEMA)
    first, second = made.write(str(tmp_path)), made.write(str(tmp_path))
    assert not set(first.files) & set(second.files)
    assert _read(tmp_path, second.files) == _wanted(ROWS)


def test_a_task_that_fails_fails_the_whole_and_leaves_no_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(PythonException, match="no more of these"):
        WorkerRows(spark.range(0, 10, 1, 1), _texts_then_failure, SCHEMA).write(str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_rows_are_written_in_groups_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_rows, "ROW_GROUP_BYTES", 1000)
    given = (
        pa.RecordBatch.from_arrays([pa.array(range(first, first + 10))], ["id"])
        for first in range(0, ROWS, 10)
    )
    (told,) = worker_rows.write_batches(given, _texts, str(tmp_path), SCHEMA, {})
    (name,) = told.column("name").to_pylist()
    file = pq.ParquetFile(tmp_path / name)
    assert file.metadata.num_row_groups > ROWS // 100
    assert _read(tmp_path, [name]) == _wanted(ROWS)
