import pyarrow as pa
import pytest

from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from spark_jobs.transforms.pressure_arrays import ORDER, READ, window_batches
from tests.bench.generated_fleet import Fleet

FLEET = Fleet(jobs=2, vertices=3, subtasks=4)


def samples(minutes: int) -> pa.RecordBatch:
    observed = [read for minute in range(minutes) for read in FLEET.minute(minute)]
    rows = to_arrow(TABLES["vertex_metrics"], group_by_table(observed)["vertex_metrics"], 1).select(list(READ))
    return rows.sort_by([(name, "ascending") for name in ORDER]).combine_chunks().to_batches()[0]


@pytest.mark.parametrize("rows", [1, 2, 5, 7])
def test_a_window_may_go_over_the_end_of_a_batch(rows: int) -> None:
    whole = samples(minutes=3)
    expected = pa.Table.from_batches(window_batches([whole]))
    cut = [whole.slice(first, rows) for first in range(0, whole.num_rows, rows)]
    assert expected.num_rows == FLEET.jobs * FLEET.vertices * 3
    assert pa.Table.from_batches(window_batches(cut)).to_pylist() == expected.to_pylist()


def test_of_replayed_samples_the_newest_counts_whatever_their_order() -> None:
    told = samples(minutes=1).slice(0, 1).to_pylist()[0]
    later = told | {"commit_seq": 2, "records_in_per_s": [7.0]}
    tied = later | {"records_in_per_s": [8.0]}
    found = []
    for rows in ([told, later, tied], [told, tied, later]):
        (windows,) = window_batches([pa.RecordBatch.from_pylist(rows, schema=samples(1).schema)])
        found.append((windows["samples"].to_pylist(), windows["records_in_per_s"].to_pylist()))
    assert found == [([1], [8.0])] * 2
