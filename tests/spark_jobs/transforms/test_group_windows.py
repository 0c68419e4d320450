"""Samples of several jobs, in batches of any size → the windows and placements of each."""

import pyarrow as pa
import pytest

from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from spark_jobs.transforms.fold_batches import job_groups
from spark_jobs.transforms.group_windows import IS_NEW, PART, SAMPLE
from spark_jobs.transforms.grouped_batches import Group
from tests.bench.generated_fleet import Fleet

FLEET = Fleet(jobs=3, vertices=2, subtasks=4)
MINUTES = 3


def samples(new_after_seq: int) -> pa.RecordBatch:
    """Commit 1 has the samples of the first minute, and so on."""
    read = pa.concat_tables(
        to_arrow(
            TABLES["vertex_metrics"],
            group_by_table(list(FLEET.minute(minute)))["vertex_metrics"],
            minute + 1,
        )
        for minute in range(MINUTES)
    )
    flagged = read.select(list(SAMPLE)).append_column(
        IS_NEW, pa.array([seq > new_after_seq for seq in read["commit_seq"].to_pylist()])
    )
    rows = flagged.sort_by([("cluster", "ascending"), ("job_id", "ascending")]).combine_chunks()
    fields = [name for name in rows.column_names if name != "cluster"]
    struct = pa.StructArray.from_arrays([rows[name].chunk(0) for name in fields], names=fields)
    return pa.RecordBatch.from_arrays(
        [rows["cluster"].chunk(0), rows["job_id"].chunk(0), struct],
        names=["cluster", "job_id", PART],
    )


def told(groups: list[Group]) -> list[object]:
    return [
        (
            group.key,
            group.rows("windows"),
            sorted(group.rows("placements"), key=repr),
            sorted(group.parts),
        )
        for group in groups
    ]


@pytest.mark.parametrize("rows", [1, 2, 5, 7])
def test_a_job_may_go_over_the_end_of_a_batch(rows: int) -> None:
    whole = samples(0)
    expected = list(job_groups([whole]))
    cut = [whole.slice(first, rows) for first in range(0, whole.num_rows, rows)]
    assert told(list(job_groups(cut))) == told(expected)
    assert [len(group.rows("windows")) for group in expected] == [
        FLEET.vertices * MINUTES
    ] * FLEET.jobs


def test_windows_without_a_new_sample_are_left_out_and_only_new_ones_tell_where_tasks_run() -> None:
    every, newest = list(job_groups([samples(0)])), list(job_groups([samples(MINUTES - 1)]))
    for whole, late in zip(every, newest, strict=True):
        assert late.rows("windows") == [
            row
            for row in whole.rows("windows")
            if row["window_start"] == whole.rows("windows")[-1]["window_start"]
        ]
        assert 0 < len(late.rows("placements")) < len(whole.rows("placements"))


def test_a_job_of_which_nothing_is_new_has_no_news() -> None:
    assert [group.parts for group in job_groups([samples(MINUTES)])] == [{}] * FLEET.jobs
