"""Calls that are worked out of a ``_metadata``, against those that Flink's own HDFS file system
made as it wrote that checkpoint.
"""

from collections import Counter
from pathlib import Path

import pytest

from ingest.flink_rest.versions import release
from spark_jobs.filesystem_calls.calls import Calls, calls_to_write, ways_to_write
from spark_jobs.filesystem_calls.checkpoint_files import checkpoint_files
from tests.played import FOLDER
from tests.played_calls import calls, calls_by_checkpoint, metadata_rows
from tests.played_trees import listed, root_uri

COUNTED = sorted(str(path.parent.relative_to(FOLDER)) for path in FOLDER.glob("*/*/calls.tsv.gz"))
KINDS = {
    "create": "create",
    "addBlock": "add_block",
    "fsync": "fsync",
    "complete": "complete",
    "rename": "rename",
    "delete": "delete",
    "getFileInfo": "get_file_info",
    "mkdirs": "mkdirs",
    "getListing": "get_listing",
}
UPLOADS_TOLD_SINCE = ("1.20.5", "2.3.0")


def worked_out(name: str, directory: Path) -> dict[int, tuple[Calls, Calls]]:
    """By checkpoint the least and the most."""
    found = {}
    safely, also = ways_to_write(release(name))
    assert safely == also
    for checkpoint, (file, rows) in metadata_rows(name, directory).items():
        files = checkpoint_files(rows, file.directory, file.size or 0)
        least, most = (
            calls_to_write(
                files.written_file_bytes(unknown=unknown), files.metadata_bytes, safely=safely
            )
            for unknown in (False, True)
        )
        found[checkpoint] = (least, most)
    return found


def test_there_is_a_recording_of_each_way_to_write():
    ways = ("rocksdb", "small", "hashmap", "unaligned", "merged", "pooled")
    assert {name.split("/")[1] for name in COUNTED} == {f"counted-{way}" for way in ways}
    assert {name.split("/")[0] for name in COUNTED} == {"1.12.5", "1.20.5", "2.3.0"}


def test_between_the_releases_that_were_counted_it_is_not_known_how_files_are_written():
    assert [ways_to_write(one) for one in ((1, 11), (1, 12), (1, 15), (1, 20), (2, 3), None)] == [
        (False, False), (False, False), (False, True), (True, True), (True, True), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_calls_that_write_a_checkpoint_are_those_that_flink_made(name, tmp_path):
    counted, found = calls_by_checkpoint(name), worked_out(name, tmp_path)
    assert len(found) >= 3
    for checkpoint, (least, most) in found.items():
        for kind, attribute in KINDS.items():
            if kind != "delete":
                assert (
                    getattr(least, attribute)
                    <= counted[checkpoint][kind]
                    <= getattr(most, attribute)
                ), (checkpoint, kind)
        if name.startswith(UPLOADS_TOLD_SINCE):
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


@pytest.mark.parametrize("name", [name for name in COUNTED if name.endswith("unaligned")])
def test_files_of_in_flight_data_are_deleted_by_each_subtask_that_is_in_them(name, tmp_path):
    """Under back-pressure every checkpoint has in-flight data of the same subtasks, the subsumed
    ones as those that are still there.
    """
    made: dict[str, Counter[str]] = {}
    for one in calls(name):
        if (
            "/chk-" in one.path
            and "metadata" not in one.path
            and one.kind in ("create", "delete", "getFileInfo")
        ):
            checkpoint = one.path.split("/chk-")[1].split("/")[0]
            made.setdefault(checkpoint, Counter())[one.kind] += 1
    subsumed = [one for one in made.values() if one["delete"] > 1]
    assert len(subsumed) >= 3
    assert all(one["delete"] == one["create"] + one["getFileInfo"] + 1 for one in subsumed)
    again = {
        checkpoint_files(rows, file.directory, file.size or 0).deleted_again
        for file, rows in metadata_rows(name, tmp_path).values()
    }
    assert {one["getFileInfo"] for one in subsumed} <= set(range(min(again), max(again) + 1))
    assert min(again) >= 4
