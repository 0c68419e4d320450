import pyarrow as pa

from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from spark_jobs.transforms.pressure_arrays import ORDER, READ, windows
from tests.bench.generated_fleet import Fleet

FLEET = Fleet(jobs=2, vertices=3, subtasks=4)


def samples(minutes: int) -> pa.RecordBatch:
    observed = [read for minute in range(minutes) for read in FLEET.minute(minute)]
    rows = to_arrow(TABLES["vertex_metrics"], group_by_table(observed)["vertex_metrics"], 1).select(
        list(READ)
    )
    return rows.sort_by([(name, "ascending") for name in ORDER]).combine_chunks().to_batches()[0]


def test_of_replayed_samples_the_newest_counts_whatever_their_order() -> None:
    told = samples(minutes=1).slice(0, 1).to_pylist()[0]
    later = told | {"commit_seq": 2, "records_in_per_s": [7.0]}
    tied = later | {"records_in_per_s": [8.0]}
    found = []
    for rows in ([told, later, tied], [told, tied, later]):
        made = windows(pa.RecordBatch.from_pylist(rows, schema=samples(1).schema))
        found.append((made["samples"].to_pylist(), made["records_in_per_s"].to_pylist()))
    assert found == [([1], [8.0])] * 2


def test_a_subtask_works_and_waits_for_a_whole_second_of_each_at_most() -> None:
    """Flink measures a little more now and then."""
    told = samples(minutes=1).slice(0, 1).to_pylist()[0]
    full = told | {"busy_ms_per_s": [1031.0], "idle_ms_per_s": [1004.0], "records_in_per_s": [7.0]}
    made = windows(pa.RecordBatch.from_pylist([full], schema=samples(1).schema))
    (reading,) = made["readings"].to_pylist()
    assert (reading["busy_ratio"][0], reading["idle_ratio"][0]) == (1.0, 1.0)
    assert made["busy_ms_per_s_max"].to_pylist() == [1000.0]


def test_a_task_that_has_ended_has_no_place_though_flink_lists_where_it_ran() -> None:
    told = samples(minutes=1).slice(0, 1).to_pylist()[0]
    states = ["FINISHED", "RUNNING", "INITIALIZING", None]
    row = told | {"task_state": states, "taskmanager_id": ["tm-1"] * 4, "host": ["h"] * 4}
    made = windows(pa.RecordBatch.from_pylist([row], schema=samples(1).schema))
    (reading,) = made["readings"].to_pylist()
    assert reading["taskmanager_id"] == [None, "tm-1", "tm-1", "tm-1"]
    assert reading["host"] == [None, "h", "h", "h"]
