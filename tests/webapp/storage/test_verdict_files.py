"""Files that are not live, read piece by piece."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.manifest import read
from tests.webapp.storage.builders import ROOT, file_row, write_run
from webapp.storage.verdict_files import FileQuery, VerdictFiles

PATHS = [f"{ROOT}/{number:03d}" for number in range(30)]


@pytest.fixture
def files(tmp_path) -> VerdictFiles:
    """Three parts, named against their order."""
    rows = [
        file_row(path, verdict="recent" if number % 3 else "orphan")
        for number, path in enumerate(PATHS)
    ]
    other = [file_row("s3://other/1", root="s3://other")]
    return VerdictFiles.of(
        read(
            write_run(
                tmp_path, "storage-1", {"storage_file": [rows[10:20], other, rows[20:], rows[:10]]}
            )
        )
    )


def walk(files: VerdictFiles, size: int, **wanted) -> list[str]:
    seen, after = [], ""
    for _ in range(100):
        page = files.page(FileQuery(root=ROOT, after=after, **wanted), size)
        seen += [row["path"] for row in page.rows]
        if not page.after:
            return seen
        after = page.after
    raise AssertionError("it never ends")


@pytest.mark.parametrize("size", [1, 7, 10, 30, 100])
def test_pages_together_are_all_files_of_the_root_in_order(files, size):
    assert walk(files, size) == PATHS


def test_a_filter_keeps_the_order_and_misses_none(files):
    assert walk(files, 4, verdict="orphan") == PATHS[::3]
    assert walk(files, 4, verdict="orphan", reason="recent") == []


def test_a_page_that_has_looked_at_enough_says_so_and_goes_on_from_there(files):
    bounded = VerdictFiles(files.parts, most_scanned=10)
    page = bounded.page(FileQuery(root=ROOT, verdict="retained_waste"), 5)
    assert (page.rows, page.incomplete, page.after != "") == ([], True, True)
    assert walk(bounded, 5, verdict="orphan") == PATHS[::3]


def test_the_stream_has_every_file_of_every_root(files):
    assert [row["path"] for row in files.matching(FileQuery())] == [*PATHS, "s3://other/1"]


def test_a_list_that_was_written_before_a_column_was_added_is_read(tmp_path) -> None:
    path = tmp_path / "part-0.parquet"
    pq.write_table(
        pa.Table.from_pylist([{"root": ROOT, "path": PATHS[0], "verdict": "orphan"}]), path
    )
    files = VerdictFiles([str(path)])
    (row,) = files.matching(FileQuery())
    assert (
        [row]
        == files.page(FileQuery(root=ROOT), 10).rows
        == list(files.matching(FileQuery(root=ROOT)))
    )
    assert row["verdict"] == "orphan" and row["last_referred_at"] is None
