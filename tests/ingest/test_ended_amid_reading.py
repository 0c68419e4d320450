"""A process that has what it wanted of the lake ends, although threads of Arrow still read or let
go of files.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from tests.ingest.recorded import RECORDINGS

PROJECT = Path(__file__).parents[2]
READ = """
import sys
from datetime import UTC, datetime
from ingest.lake.reader import LakeReader

class Elsewhere(LakeReader):
    local_root = None  # as one on an object store, whose files the Delta library reads

kind = {"here": LakeReader, "elsewhere": Elsewhere}[sys.argv[2]]
span = {"from_time": datetime(2020, 1, 1, tzinfo=UTC), "to_time": datetime(2030, 1, 1, tzinfo=UTC)}
print(kind(sys.argv[1]).read("vertex_metrics", where={}, **span, limit=3).num_rows)
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """With many files, most of which nobody reads who wants few rows."""
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    for number in range(12):
        import_recording(RECORDINGS / "1.20.5" / "E", f"c{number}", lake)
    return lake


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_process_that_wanted_few_rows_ends_while_others_are_read_ahead(
    lake: Lake, where: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", READ, lake.root, where],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "3\n", "")
