"""A lake that an earlier version of Weir made, before columns of its tables were added or dropped."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from ingest.records import Observed, VertexMetrics
from spark_jobs.small.rows import SmallLake

AT = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)
TABLE = TABLES["vertex_metrics"]
ADDED = ["counted_at", "records_in", "records_out"]
OLD = pa.schema([field for field in TABLE.schema if field.name not in ADDED])


def sample(minute):
    at = AT + timedelta(minutes=minute)
    told = VertexMetrics(
        "a" * 32, "b" * 32, at, 1, attempt=(0,), counted_at=at, records_in=(7,), records_out=(None,)
    )
    return Observed("c", at, "rest", (told,))


@pytest.fixture
def lake(tmp_path):
    """One row, written by the earlier version."""
    lake = Lake(str(tmp_path / "lake"))
    uri = f"{lake.root}/vertex_metrics"
    rows = to_arrow(TABLE, group_by_table([sample(0)])["vertex_metrics"], 1)
    delta = DeltaTable.create(uri, OLD, partition_by=["date"])
    write_deltalake(delta, rows.select(OLD.names), mode="append")
    return lake


def read(lake, columns=("ts", "attempt", *ADDED)):
    return lake.read(
        "vertex_metrics",
        where={"cluster": "c"},
        from_time=AT,
        to_time=AT + timedelta(hours=1),
        columns=columns,
        limit=10,
    )


def test_its_rows_are_read_with_null_in_the_columns_they_lack(lake):
    rows = read(lake)
    assert rows.schema.field("records_in").type == pa.list_(pa.int64())
    assert rows.drop_columns(["ts"]).to_pylist() == [
        {"attempt": [0], "counted_at": None, "records_in": None, "records_out": None}
    ]


def test_it_takes_rows_that_have_them_and_gives_both(lake):
    lake.append([sample(1)])
    lake.append([sample(2)])
    rows = read(lake).sort_by("ts").to_pylist()
    assert [row["records_in"] for row in rows] == [None, [7], [7]]
    assert [row["counted_at"] for row in rows] == [
        None,
        AT + timedelta(minutes=1),
        AT + timedelta(minutes=2),
    ]


def test_rows_say_which_commit_brought_them(lake):
    lake.append([sample(1)])
    (row,) = read(lake, columns=("ts", "commit_seq")).filter(pc.field("ts") > AT).to_pylist()
    assert row["commit_seq"] == lake.version("vertex_metrics")


@pytest.mark.parametrize("writes", [0, 1])
def test_a_cycle_reads_it_before_and_after_the_first_new_row(lake, writes):
    for minute in range(writes):
        lake.append([sample(minute + 1)])
    small = SmallLake(lake, {"vertex_metrics": lake.version("vertex_metrics")}, most_rows=100)
    assert small.new_rows("vertex_metrics", {}).sort_by("ts")["records_in"].to_pylist() == [
        None,
        *[[7]] * writes,
    ]


def test_a_table_with_a_column_that_was_dropped_takes_rows(tmp_path):
    lake = Lake(str(tmp_path / "lake"))
    dropped = pa.field("idle_share", pa.list_(pa.float64()))
    uri = f"{lake.root}/vertex_metrics"
    delta = DeltaTable.create(uri, TABLE.schema.append(dropped), partition_by=["date"])
    lake.append([sample(0), sample(1)])
    assert len(read(lake)) == 2
    delta.update_incremental()
    assert delta.to_pyarrow_table().column("idle_share").null_count == 2
