"""A process that read Parquet out of a file of Python ends when it wants to."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.selections import mostly_long

OPENED = 'ParquetStream(open(sys.argv[1], "rb"))'
READS = {
    "whole": f"{OPENED}.read().to_pylist()",
    "row group": f"{OPENED}.read_row_group(1).to_pylist()",
    "batches": f"list({OPENED}.iter_batches(500))",
    "first batch": f"next({OPENED}.iter_batches(1, columns=['a']))",
}
"""The reader is let go of before the process ends."""
CHILDREN = """
import os, sys
from ingest.parquet_stream import ParquetStream

ended = []
for _ in range(10):
    if not (child := os.fork()):
        rows = {read}
        sys.exit()
    ended.append(os.waitpid(child, 0)[1])
assert not any(ended), ended
"""


@pytest.mark.parametrize("read", mostly_long(READS.values(), short=2, ids=list(READS)))
def test_a_process_that_ends_right_after_it_read_does_not_abort(tmp_path: Path, read: str) -> None:
    file = tmp_path / "some.parquet"
    pq.write_table(
        pa.table({name: [f"{name}{number}" for number in range(3_000)] for name in "abcdefgh"}),
        file,
        row_group_size=1_000,
    )
    done = subprocess.run(
        [sys.executable, "-c", CHILDREN.format(read=read), str(file)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
