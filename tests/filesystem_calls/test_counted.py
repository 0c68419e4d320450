"""Calls of a checkpoint of so many files, against those that Flink's own HDFS file system made."""

from collections import Counter

import pytest

from spark_jobs.filesystem_calls.calls import CALLS_BESIDE_FILES, CALLS_OF_FILE
from tests.played import FOLDER
from tests.played_calls import calls, calls_by_checkpoint
from tests.played_trees import listed, root_uri

COUNTED = sorted(str(path.parent.relative_to(FOLDER)) for path in FOLDER.glob("*/*/calls.tsv.gz"))
SINCE_1_20 = [name for name in COUNTED if name.startswith(("1.20.5", "2.3.0"))]


def test_there_is_a_recording_of_each_way_to_write():
    ways = ("rocksdb", "small", "hashmap", "unaligned", "merged", "pooled")
    assert {name.split("/")[1] for name in COUNTED} == {f"counted-{way}" for way in ways}
    assert {name.split("/")[0] for name in COUNTED} == {"1.12.5", "1.20.5", "2.3.0"}


@pytest.mark.parametrize("name", SINCE_1_20)
def test_calls_that_write_a_checkpoint_are_those_that_flink_made(name):
    completed = [made for made in calls_by_checkpoint(name).values() if made["rename"]]
    assert len(completed) >= 3
    for counted in completed:
        made = Counter(counted)
        del made["delete"]
        files = made["create"]
        expected = Counter({kind: count * files for kind, count in CALLS_OF_FILE.items()})
        expected += Counter(CALLS_BESIDE_FILES)
        del expected["delete"]
        if name.endswith("unaligned"):
            # Each further subtask in a file of in-flight data checks it as it deletes it again.
            assert made["getFileInfo"] >= expected["getFileInfo"]
            expected["getFileInfo"] = made["getFileInfo"]
        assert made == expected


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
