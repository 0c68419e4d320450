"""Names of RocksDB files → what a checkpoint kept, uploaded again, and wrote anew."""

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.fold.comparisons import comparisons
from spark_jobs.fold.state import JobState
from spark_jobs.transforms import uploads
from tests.fold import rows as plain
from tests.rows import EPOCH_MS
from tests.spark_jobs.rows import JOB, collected, lake_rows, noon

OLD, NEW = "file:/ck/old/chk-6", f"file:/ck/{JOB}/chk-7"


def sst(number: int, path: str, size: int = 100, **values: Any) -> dict[str, Any]:
    return {"local_name": f"{number:06d}.sst", "path": f"file:/ck/{path}", "size_bytes": size, **values}


def parsed(directory: str, *files: dict[str, Any], whole: bool = True, at: float = 60) -> list[dict[str, Any]]:
    """Rows of one ``_metadata`` as the lake holds them."""
    common = {"cluster": "c", "metadata_path": f"{directory}/_metadata", "reader_version": 1, "observed_at": noon(at), "source": "metadata",
              "commit_seq": 1}  # fmt: skip
    rows = [
        {**common, "ordinal": place, "kind": "shared", "operator_id": "op", "subtask": 0, **file}
        for place, file in enumerate(files, start=1)
    ]
    return [*rows, {**common, "ordinal": 0, "kind": "file", "handles": len(files)}] if whole else rows


def compared(spark: SparkSession, references: list[dict[str, Any]], restored_from: str | None = OLD, before: tuple = ()) -> list[dict]:
    """Of checkpoint 7, which completed after a restore from ``restored_from``."""
    done = [
        {"checkpoint_id": number, "trigger_time": EPOCH_MS(at), "outcome": "completed", "is_savepoint": False, "external_path": path}
        for number, at, path in (*before, (7, 30, NEW))
    ]
    restores = [{"kind": "restored", "ts": EPOCH_MS(10), "checkpoint_id": 6, "path": restored_from}] if restored_from else []
    pairs = comparisons(plain.facts(done), JobState(events=plain.events(restores)))
    told = lake_rows(spark, "references", references)
    schema = "cluster string, job_id string, checkpoint_id long, trigger_time timestamp, directory string, compared_with string"
    rows = [("c", JOB, pair["checkpoint_id"], _instant(pair["trigger_time"]), pair["directory"], pair["compared_with"]) for pair in pairs]
    of_files = uploads.of_files(spark.createDataFrame(rows, schema), told)
    return [row for row in collected(uploads.uploads(of_files, told)) if row["checkpoint_id"] == 7]


def _instant(epoch_ms: int) -> datetime:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def sizes(rows: list[dict]) -> tuple[int, int, int]:
    (row,) = rows
    return row["kept_bytes"], row["same_name_bytes"], row["new_name_bytes"]


def test_the_same_file_is_kept_a_copy_is_uploaded_again_and_another_name_is_new(spark: SparkSession) -> None:
    old = parsed(OLD, sst(1, "shared/x", 10), sst(2, "shared/y", 20), sst(3, "shared/gone", 5))
    new = parsed(NEW, sst(1, "shared/x", 10), sst(2, "shared/z", 20), sst(4, "shared/w", 40))
    assert sizes(compared(spark, old + new)) == (10, 20, 40)


def test_a_file_of_another_size_under_an_old_name_is_a_new_one(spark: SparkSession) -> None:
    assert sizes(compared(spark, parsed(OLD, sst(1, "shared/x", 10)) + parsed(NEW, sst(1, "shared/y", 11)))) == (0, 0, 11)


def test_each_subtask_numbers_its_own_files(spark: SparkSession) -> None:
    assert sizes(compared(spark, parsed(OLD, sst(1, "shared/x")) + parsed(NEW, sst(1, "shared/y", subtask=1)))) == (0, 0, 100)


def test_segments_of_one_merged_file_are_told_apart_by_their_place(spark: SparkSession) -> None:
    old = parsed(OLD, sst(1, "shared/m", offset_bytes=0))
    assert sizes(compared(spark, old + parsed(NEW, sst(1, "shared/m", offset_bytes=0)))) == (100, 0, 0)
    assert sizes(compared(spark, old + parsed(NEW, sst(1, "shared/m", offset_bytes=500)))) == (0, 100, 0)


def test_what_is_no_sst_file_does_not_count(spark: SparkSession) -> None:
    manifest = {"local_name": "MANIFEST-000004", "path": "file:/ck/shared/m", "size_bytes": 9}
    assert sizes(compared(spark, parsed(OLD, manifest) + parsed(NEW, manifest))) == (0, 0, 0)


def test_a_file_that_was_not_read_to_its_end_tells_nothing(spark: SparkSession) -> None:
    assert compared(spark, parsed(OLD, sst(1, "shared/x")) + parsed(NEW, sst(1, "shared/y"), whole=False)) == []


def test_one_side_alone_tells_nothing(spark: SparkSession) -> None:
    assert compared(spark, parsed(NEW, sst(1, "shared/y"))) == []


def test_reading_again_changes_nothing(spark: SparkSession) -> None:
    once = parsed(OLD, sst(1, "shared/x")) + parsed(NEW, sst(1, "shared/y"))
    assert compared(spark, once) == compared(spark, once + parsed(OLD, sst(1, "shared/x"), at=600))


def test_flinks_other_spellings_of_a_path_are_the_same_snapshot(spark: SparkSession) -> None:
    references = parsed(OLD, sst(1, "shared/x")) + parsed(NEW, sst(1, "shared/y"))
    assert sizes(compared(spark, references, restored_from="file:///ck/old/chk-6/_metadata")) == (0, 100, 0)


def test_without_a_restore_the_last_completed_checkpoint_is_compared(spark: SparkSession) -> None:
    references = parsed("file:/ck/own/chk-5", sst(1, "shared/x")) + parsed(NEW, sst(1, "shared/x"))
    (row,) = compared(spark, references, restored_from=None, before=((4, 5, "file:/ck/own/chk-4"), (5, 15, "file:/ck/own/chk-5")))
    assert (row["compared_with"], row["kept_bytes"]) == ("file:/ck/own/chk-5", 100)


def test_it_is_known_when_both_were_first_read(spark: SparkSession) -> None:
    references = parsed(OLD, at=40) + parsed(NEW, at=50) + parsed(OLD, at=500)
    (row,) = compared(spark, references)
    assert row["as_of"] == noon(50)
