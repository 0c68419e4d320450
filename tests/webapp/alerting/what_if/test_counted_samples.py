"""Record counters of a minute, as a what-if reads them: the same as every cycle makes."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.lake.tables import TABLES
from spark_jobs.transforms.plain_rows import plain
from spark_jobs.transforms.pressure_arrays import READ, windows
from webapp.alerting.what_if.counted_samples import counters
from webapp.alerting.what_if.vertex_samples import vertex_windows

T0 = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)
SUBTASKS = 3


def per_subtask(values):
    return st.none() | st.lists(st.none() | values, min_size=SUBTASKS, max_size=SUBTASKS)


COUNTS = st.integers(0, 1000)
SAMPLE = st.fixed_dictionaries(
    {
        "counted_at": st.just(0) | st.none(),
        "attempt": per_subtask(st.integers(0, 2)),
        "records_in": per_subtask(COUNTS),
        "records_out": per_subtask(COUNTS),
        "task_state": per_subtask(st.sampled_from(["RUNNING", "INITIALIZING", "FINISHED"])),
    }
)


def samples(told):
    """At ten seconds each, asked for counters a second later."""
    nothing = dict.fromkeys(READ)
    for number, sample in enumerate(told):
        at = T0 + timedelta(seconds=10 * number)
        key = {
            "cluster": "c",
            "job_id": "j",
            "vertex_id": "v",
            "ts": at,
            "observed_at": at,
            "commit_seq": 1,
        }
        counted_at = None if sample["counted_at"] is None else at + timedelta(seconds=1)
        yield nothing | key | sample | {"counted_at": counted_at, "host": ["h"] * SUBTASKS}


@settings(deadline=None)
@given(st.lists(SAMPLE, min_size=1, max_size=12))
def test_a_minute_has_the_counters_that_a_cycle_finds_in_it(told):
    rows = list(samples(told))
    schema = pa.schema([TABLES["vertex_metrics"].schema.field(name) for name in READ])
    (batch,) = pa.Table.from_pylist(rows, schema=schema).to_batches()
    by_cycle = plain(windows(batch)["counters"])
    minutes = [rows[:6], rows[6:]] if len(rows) > 6 else [rows]
    assert [counters(minute) for minute in minutes] == by_cycle


def test_records_a_second_are_counted_from_the_first_answer_of_a_minute_or_from_the_minute_before():
    known = [
        {
            "counted_at": 0,
            "attempt": [0] * SUBTASKS,
            "records_in": [100 * n, 10 * n, 10 * n],
            "records_out": None,
            "task_state": None,
        }
        for n in range(12)
    ]
    early, late = vertex_windows(samples(known)).values()
    assert (early[0].counted_ms, early[0].counted_in_per_s, early[0].counted_out_per_s) == (
        50_000,
        (10.0, 1.0, 1.0),
        (),
    )
    assert late[0].counted_in_per_s == (10.0, 1.0, 1.0)
    begun = vertex_windows(samples(known[:7])).values()
    assert [window[0].counted_ms for window in begun] == [50_000, None]
