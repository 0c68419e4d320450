"""Names of RocksDB files → what a checkpoint kept, uploaded again, and wrote anew."""

from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from spark_jobs.fold.comparisons import comparisons
from spark_jobs.fold.state import JobState
from spark_jobs.nested_tables import CLUSTER
from spark_jobs.small.tables import group_rows, map_rows
from spark_jobs.step_schemas import METADATA_NEEDS
from spark_jobs.steps import uploads
from tests.fold import rows as plain
from tests.rows import AWARE as noon
from tests.rows import EPOCH_MS, JOB, lake_values

OLD, NEW = "file:/ck/old/chk-6", f"file:/ck/{JOB}/chk-7"
MANIFEST = {"local_name": "MANIFEST-000004", "path": "file:/ck/shared/m", "size_bytes": 9}

Compared = dict[str, list[dict[str, Any]]]
"""Rows by case."""


def sst(number: int, path: str, size: int = 100, **values: Any) -> dict[str, Any]:
    return {
        "local_name": f"{number:06d}.sst",
        "path": f"file:/ck/{path}",
        "size_bytes": size,
        **values,
    }


def parsed(
    directory: str, *files: dict[str, Any], whole: bool = True, at: float = 60
) -> list[dict[str, Any]]:
    """Rows of one ``_metadata`` as the lake holds them."""
    common = {
        "cluster": "c",
        "metadata_path": f"{directory}/_metadata",
        "reader_version": 1,
        "observed_at": noon(at),
        "source": "metadata",
        "commit_seq": 1,
    }
    rows = [
        {**common, "ordinal": place, "kind": "shared", "operator_id": "op", "subtask": 0, **file}
        for place, file in enumerate(files, start=1)
    ]
    return (
        [*rows, {**common, "ordinal": 0, "kind": "file", "handles": len(files)}] if whole else rows
    )


class Case(NamedTuple):
    """What is known of checkpoint 7, which completed after a restore from ``restored_from``; each
    is a cluster of its own.
    """

    references: list[dict[str, Any]]
    restored_from: str | None = OLD
    before: tuple[tuple[int, float, str], ...] = ()

    def pairs(self) -> list[dict[str, Any]]:
        done = [
            {
                "checkpoint_id": number,
                "trigger_time": EPOCH_MS(at),
                "outcome": "completed",
                "is_savepoint": False,
                "external_path": path,
            }
            for number, at, path in (*self.before, (7, 30, NEW))
        ]
        restores = (
            [
                {
                    "kind": "restored",
                    "ts": EPOCH_MS(10),
                    "checkpoint_id": 6,
                    "path": self.restored_from,
                }
            ]
            if self.restored_from
            else []
        )
        return comparisons(plain.facts(done), JobState(events=plain.events(restores)))


ONCE = [*parsed(OLD, sst(1, "shared/x")), *parsed(NEW, sst(1, "shared/y"))]
OWN = (4, 5, "file:/ck/own/chk-4"), (5, 15, "file:/ck/own/chk-5")
CASES = {
    "names": Case(
        parsed(OLD, sst(1, "shared/x", 10), sst(2, "shared/y", 20), sst(3, "shared/gone", 5))
        + parsed(NEW, sst(1, "shared/x", 10), sst(2, "shared/z", 20), sst(4, "shared/w", 40))
    ),
    "another size": Case(parsed(OLD, sst(1, "shared/x", 10)) + parsed(NEW, sst(1, "shared/y", 11))),
    "two subtasks": Case(
        parsed(OLD, sst(1, "shared/x")) + parsed(NEW, sst(1, "shared/y", subtask=1))
    ),
    "same place": Case(
        parsed(OLD, sst(1, "shared/m", offset_bytes=0))
        + parsed(NEW, sst(1, "shared/m", offset_bytes=0))
    ),
    "another place": Case(
        parsed(OLD, sst(1, "shared/m", offset_bytes=0))
        + parsed(NEW, sst(1, "shared/m", offset_bytes=500))
    ),
    "no sst": Case(parsed(OLD, MANIFEST) + parsed(NEW, MANIFEST)),
    "half read": Case(
        parsed(OLD, sst(1, "shared/x")) + parsed(NEW, sst(1, "shared/y"), whole=False)
    ),
    "one side": Case(parsed(NEW, sst(1, "shared/y"))),
    "once": Case(ONCE),
    "again": Case([*ONCE, *parsed(OLD, sst(1, "shared/x"), at=600)]),
    "spelled otherwise": Case(ONCE, restored_from="file:///ck/old/chk-6/_metadata"),
    "own": Case(
        [*parsed(OWN[1][2], sst(1, "shared/x")), *parsed(NEW, sst(1, "shared/x"))],
        restored_from=None,
        before=OWN,
    ),
    "read in time": Case(parsed(OLD, at=40) + parsed(NEW, at=50) + parsed(OLD, at=500)),
}


@pytest.fixture(scope="module")
def compared() -> Compared:
    """The rows of checkpoint 7 of each."""
    found = {}
    for name, case in CASES.items():
        rows = list(
            lake_values("references", [row | {"cluster": name} for row in case.references], noon)
        )
        told = pa.Table.from_pylist(rows, uploads.REFERENCE)
        asked = pa.Table.from_pylist(
            [{"cluster": name, "job_id": JOB, "comparisons": case.pairs()}], METADATA_NEEDS
        )
        read = map_rows(told, uploads.whole_batches, uploads.WHOLE)
        files = map_rows(told, uploads.file_batches, uploads.REFERENCE)
        ordered = group_rows({"needs": asked, "new_files": read, "references": files}, CLUSTER)
        rows = map_rows(ordered, uploads.upload_batches, uploads.UPLOAD).to_pylist()
        found[name] = [row for row in rows if row["checkpoint_id"] == 7]
    return found


def sizes(rows: list[dict]) -> tuple[int, int, int]:
    (row,) = rows
    return row["kept_bytes"], row["same_name_bytes"], row["new_name_bytes"]


def test_the_same_file_is_kept_a_copy_is_uploaded_again_and_another_name_is_new(
    compared: Compared,
) -> None:
    assert sizes(compared["names"]) == (10, 20, 40)


def test_a_file_of_another_size_under_an_old_name_is_a_new_one(compared: Compared) -> None:
    assert sizes(compared["another size"]) == (0, 0, 11)


def test_each_subtask_numbers_its_own_files(compared: Compared) -> None:
    assert sizes(compared["two subtasks"]) == (0, 0, 100)


def test_segments_of_one_merged_file_are_told_apart_by_their_place(compared: Compared) -> None:
    assert sizes(compared["same place"]) == (100, 0, 0)
    assert sizes(compared["another place"]) == (0, 100, 0)


def test_what_is_no_sst_file_does_not_count(compared: Compared) -> None:
    assert sizes(compared["no sst"]) == (0, 0, 0)


def test_a_file_that_was_not_read_to_its_end_tells_nothing(compared: Compared) -> None:
    assert compared["half read"] == []


def test_one_side_alone_tells_nothing(compared: Compared) -> None:
    assert compared["one side"] == []


def test_reading_again_changes_nothing(compared: Compared) -> None:
    assert sizes(compared["once"]) == (0, 100, 0)
    assert compared["again"] == [row | {"cluster": "again"} for row in compared["once"]]


def test_flinks_other_spellings_of_a_path_are_the_same_snapshot(compared: Compared) -> None:
    assert sizes(compared["spelled otherwise"]) == (0, 100, 0)


def test_without_a_restore_the_last_completed_checkpoint_is_compared(compared: Compared) -> None:
    (row,) = compared["own"]
    assert (row["compared_with"], row["kept_bytes"]) == ("file:/ck/own/chk-5", 100)


def test_it_is_known_when_both_were_first_read(compared: Compared) -> None:
    (row,) = compared["read in time"]
    assert row["as_of"] == noon(50)
