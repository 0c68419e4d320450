"""Calls that are worked out of a ``_metadata``, against those that Flink's own HDFS file system
made as it wrote that checkpoint.
"""

from collections import Counter

import pytest

from spark_jobs.filesystem_calls.calls import CALLS_BESIDE_FILES, CALLS_OF_FILE
from spark_jobs.filesystem_calls.checkpoint_files import UNKNOWN, WRITTEN, checkpoint_streams
from tests.played import FOLDER
from tests.played_calls import calls, calls_by_checkpoint, metadata_rows
from tests.played_trees import listed, root_uri

COUNTED = sorted(str(path.parent.relative_to(FOLDER)) for path in FOLDER.glob("*/*/calls.tsv.gz"))
SINCE_1_20 = [name for name in COUNTED if name.startswith(("1.20.5", "2.3.0"))]
UNMERGED = [name for name in COUNTED if not name.endswith(("merged", "pooled"))]


def test_there_is_a_recording_of_each_way_to_write():
    ways = ("rocksdb", "small", "hashmap", "unaligned", "merged", "pooled")
    assert {name.split("/")[1] for name in COUNTED} == {f"counted-{way}" for way in ways}
    assert {name.split("/")[0] for name in COUNTED} == {"1.12.5", "1.20.5", "2.3.0"}


@pytest.mark.parametrize("name", SINCE_1_20)
def test_calls_that_write_a_checkpoint_are_those_that_flink_made(name, tmp_path):
    counted, found = calls_by_checkpoint(name), metadata_rows(name, tmp_path)
    assert len(found) >= 3
    for checkpoint in found:
        made = Counter(counted[checkpoint])
        del made["delete"]
        files = made["create"]
        expected = Counter({kind: count * files for kind, count in CALLS_OF_FILE.items()})
        expected += Counter(CALLS_BESIDE_FILES)
        del expected["delete"]
        assert made == expected, checkpoint


@pytest.mark.parametrize("name", UNMERGED)
def test_files_that_a_checkpoint_wrote_are_those_that_flink_created(name, tmp_path):
    counted = calls_by_checkpoint(name)
    for checkpoint, (file, rows) in metadata_rows(name, tmp_path).items():
        streams = checkpoint_streams(rows, file.directory)
        written = streams["written"][streams["in_file"]]
        least = int((written == WRITTEN).sum())
        most = least + int((written == UNKNOWN).sum())
        assert least <= counted[checkpoint]["create"] - 1 <= most, checkpoint
        if name in SINCE_1_20:
            assert least == most


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_written_is_deleted_by_one_call_a_file_and_one_a_directory(name):
    """Flink's calls on files that it dropped: those that were made and are no more."""
    root, seen = root_uri(name).removeprefix("hdfs://lab"), calls(name)
    there = {f"{root}/{path}" for path, _size, _modified in listed(name)}
    made = {
        one.path
        for one in seen
        if one.kind in ("create", "rename") and "/._metadata.inprogress." not in one.path
    }
    directories = {one.path for one in seen if one.kind == "mkdirs" and "/chk-" in one.path}
    deleted = Counter(one.path for one in seen if one.kind == "delete")
    assert set(deleted) - directories == made - there
    assert {path for path in directories if f"{path}/_metadata" in made} & set(deleted) == {
        path for path in directories if f"{path}/_metadata" in made - there
    }
    if not name.endswith("unaligned"):
        assert max(deleted.values()) == 1
