"""The cycle over recordings of real clusters: at once and in pieces, and with Spark, it leaves the
same rows.

That these are right is proven where they are shown (:mod:`tests.acceptance`) and folded
(:mod:`tests.fold.test_reconciliation`).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.lake import derived_commits
from ingest.lake.derived import DERIVED
from ingest.messages import as_message
from ingest.recordings.importer import import_recording
from ingest.records import Observed, Skip
from spark_jobs.serving import SERVING_TABLES
from tests.acceptance.recount import full_sizes
from tests.spark_jobs.instances import (
    DECLINED,
    PIECES,
    RECORDINGS,
    TRIGGERED,
    UPLOAD,
    Instance,
    Rows,
    SmallInstance,
    assert_same_rows,
    jobmanager_log,
    parsed,
    play_in_pieces,
)
from tests.spark_jobs.rows import noon


def test_facts_are_final_once_they_ended_and_no_figure_is_negative(whole: Instance) -> None:
    for fact in whole.rows("checkpoint_fact").values():
        assert fact["final"] == (fact["outcome"] != "in_progress")
        for name, value in fact.items():
            if isinstance(value, int | float):
                assert value >= 0, (name, value)


def test_the_slowest_subtask_has_its_host_and_its_vertex_name(whole: Instance) -> None:
    told = [
        fact for fact in whole.rows("checkpoint_fact").values() if fact["slowest_end_to_end_ms"]
    ]
    assert len(told) > 50
    assert all(
        fact["slowest_host"] and fact["slowest_vertex_name"] and fact["dominant_phase"]
        for fact in told
    )


def test_restores_are_no_checkpoints_of_the_job_that_restores(whole: Instance) -> None:
    restored = [
        row
        for row in whole.rows("job_current").values()
        if row["cluster"] == "1.20.5/H" and row["restored_checkpoint_id"]
    ]
    assert len(restored) >= 5


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """Five runs of one instance: what belongs together comes bit by bit, then nothing comes, then
    only a compaction.
    """
    folder = tmp_path_factory.mktemp("later")
    instance = SmallInstance(None, folder)
    play_in_pieces(instance, folder / "pieces")
    yield instance


@pytest.mark.long
def test_with_spark_pieces_leave_the_same_rows_run_for_run(
    spark: SparkSession, later: Instance, tmp_path: Path
) -> None:
    by_spark = Instance(spark, tmp_path)
    play_in_pieces(by_spark, later.root / "pieces")
    assert_same_rows(later, by_spark)


def test_rows_that_spark_read_follow_on_raw_ones_of_an_earlier_version_and_none_counts_twice(
    tmp_path: Path,
) -> None:
    """Earlier versions had only raw tables, whoever wrote them, and their manifests name no
    others.
    """
    raw, mixed = SmallInstance(None, tmp_path / "raw"), SmallInstance(None, tmp_path / "mixed")
    skip = Observed("archive", noon(), "log", (Skip("bad.log.gz", "unreadable_file", "torn"),))
    before = [parsed(RECORDINGS / UPLOAD, 6), jobmanager_log("late-trigger", DECLINED), skip]
    after = [
        *before,
        parsed(RECORDINGS / UPLOAD, 8),
        jobmanager_log("late-trigger", TRIGGERED),
        replace(skip, cluster="later"),
    ]
    for instance, append in (
        (raw, raw.lake.append),
        (mixed, partial(derived_commits.append, mixed.lake)),
    ):
        import_recording(RECORDINGS / UPLOAD, UPLOAD, instance.lake)
        instance.lake.append(before)
        manifest = instance.cycle()
        for commits in (manifest.from_seq, manifest.to_seq):
            for table in DERIVED:
                commits.pop(table, None)
        append(after)
        instance.cycle()
    assert mixed.manifests[1].to_seq["derived/references"] == 1
    assert_same_rows(raw, mixed)


def test_pieces_in_another_order_and_again_leave_the_same_rows(
    whole: Instance, later: Instance
) -> None:
    for table in SERVING_TABLES:
        assert _of(later.rows(table), [PIECES]) == _of(whole.rows(table), [PIECES]), table


def test_a_run_without_anything_new_leaves_all_as_it_was(later: Instance) -> None:
    assert later.manifests[3].tables["checkpoint_fact"].rows == 0
    for table in SERVING_TABLES:
        assert later.rows(table, 4) == later.rows(table, 3), table


def test_a_compaction_alone_brings_nothing_new(later: Instance) -> None:
    for table in SERVING_TABLES:
        assert later.rows(table, 5) == later.rows(table, 4), table


def test_both_sides_of_an_upload_may_come_in_different_runs(
    whole: Instance, later: Instance
) -> None:
    assert [_of(later.rows("checkpoint_upload", runs), [UPLOAD]) for runs in (1, 2)] == [{}, {}]
    (upload,) = _of(later.rows("checkpoint_upload"), [UPLOAD]).values()
    (same,) = [
        row
        for row in whole.rows("checkpoint_upload").values()
        if (row["cluster"], row["checkpoint_id"]) == (UPLOAD, 8)
    ]
    assert {**upload, "as_of": None} == {**same, "as_of": None}
    occurrences = _of(later.rows("finding_occurrence"), [UPLOAD]).values()
    subjects = ((json.loads(row["subject"], object_hook=as_message), row) for row in occurrences)
    of_it = (row for subject, row in subjects if subject == "checkpoint 8")
    told = [row for row in of_it if "old files" in row["evidence"]]
    assert {row["confidence"] for row in told} == {"high"}


def test_a_full_size_comes_in_the_run_after_its_file_was_read(later: Instance) -> None:
    full = {number: size for (_job, number), size in full_sizes(RECORDINGS / UPLOAD).items()}
    for runs, numbers in ((1, ()), (2, (6,)), (3, (6, 8))):
        facts = _of(later.rows("checkpoint_fact", runs), [UPLOAD]).values()
        told = {
            fact["checkpoint_id"]: fact["state_bytes"]
            for fact in facts
            if not fact["is_savepoint"] and fact["state_bytes"]
        }
        assert told == {number: full[number] for number in numbers}, runs


def test_a_trigger_that_comes_late_takes_the_place_of_its_stand_in(later: Instance) -> None:
    cluster = ["late-trigger"]
    assert [
        fact["trigger_time"] for fact in _of(later.rows("checkpoint_fact", 1), cluster).values()
    ] == [noon(3)]
    assert later.manifests[1].retracted["checkpoint_fact"].rows == 1
    (fact,) = _of(later.rows("checkpoint_fact"), cluster).values()
    assert (fact["trigger_time"], fact["outcome"]) == (noon(), "declined")


def test_a_deploy_line_that_comes_late_names_the_task_of_a_decline(later: Instance) -> None:
    (fact,) = _of(later.rows("checkpoint_fact"), ["late-deploy"]).values()
    (decline,) = json.loads(fact["declines"])
    assert (decline["vertex_name"], decline["subtask"], decline["attempt"], decline["host"]) == (
        "enrich",
        1,
        0,
        "host-1",
    )


def _of(rows: Rows, clusters: Sequence[str]) -> Rows:
    return {key: row for key, row in rows.items() if row["cluster"] in clusters}
