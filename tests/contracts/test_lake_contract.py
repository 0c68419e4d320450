"""Raw lake tables, as they follow from the record classes."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import get_args, get_type_hints

import pyarrow as pa
import pytest

from ingest.lake.rows import table_of, to_arrow
from ingest.lake.tables import CLUSTER, PROVENANCE, TABLE_OF_RECORD, TABLES
from ingest.records import Observed, Record

RECORD_OF = {table.name: record for record, table in TABLE_OF_RECORD.items()}
INSTANT = pa.timestamp("ms", tz="UTC")
EDGE = ("source_vertex_id", "target_vertex_id", "ship_strategy")


def test_every_record_class_has_its_table():
    assert set(TABLE_OF_RECORD) == set(get_args(Record))


@pytest.mark.parametrize(
    "table, name, type_, meaning, unit",
    [
        ("checkpoints", "checkpoint_id", pa.int64(), "repeats where a fixed job id restarts", ""),
        ("checkpoints", "discarded", pa.bool_(), "true once subsumed or deleted by Flink", ""),
        (
            "jobs",
            "end_time",
            INSTANT,
            "null while it runs; when it was last listed if NOT_LISTED",
            "",
        ),
        ("jobs", "min_pause_ms", pa.int64(), "between two checkpoints", "ms"),
        (
            "jobs",
            "edges",
            pa.list_(pa.struct([(end, pa.string()) for end in EDGE])),
            "edges between vertices",
            "",
        ),
        (
            "jobs",
            "state_since",
            pa.list_(pa.struct([("state", pa.string()), ("since", INSTANT)])),
            None,
            "",
        ),
        (
            "vertex_metrics",
            "busy_ms_per_s",
            pa.list_(pa.float64()),
            "per subtask: 1.13 and later",
            "ms/s",
        ),
        ("vertex_metrics", "host", pa.list_(pa.string()), "per subtask: where it runs", ""),
        ("taskmanagers", "cpu_load", pa.float64(), "JVM CPU load, 0..1", "ratio"),
    ],
)
def test_type_meaning_and_unit_follow_from_the_field(table, name, type_, meaning, unit):
    (column,) = (column for column in TABLES[table].columns if column.name == name)
    assert (column.type, column.unit) == (type_, unit)
    assert meaning in (None, column.meaning)


@pytest.mark.parametrize("name", TABLES)
def test_identity_time_and_sorting_name_real_columns(name):
    table = TABLES[name]
    names = {column.name for column in table.all_columns}
    assert {*table.identity, *table.sort_by, table.time_column} <= names
    assert table.all_columns == (CLUSTER, *table.columns, *PROVENANCE)


@pytest.mark.parametrize("name", TABLES)
def test_units_are_in_the_names(name):
    for column in TABLES[name].columns:
        if column.unit == "bytes" and name != "log_records":
            assert column.name.endswith("_bytes"), column.name
        if column.name.endswith("_ms"):
            assert column.unit == "ms", column.name


@pytest.mark.parametrize("name", TABLES)
def test_a_record_of_defaults_and_unknowns_becomes_a_row(name):
    at = datetime(2026, 1, 2, tzinfo=UTC)
    hints = get_type_hints(RECORD_OF[name])
    required = {str: "x", int: 1, datetime: at}
    record = RECORD_OF[name](
        **{field.name: required.get(hints[field.name]) for field in fields(RECORD_OF[name])}
    )
    assert table_of(record) is TABLES[name]
    row = to_arrow(TABLES[name], [(Observed("c", at, "rest"), record)], 7).to_pylist()[0]
    assert (row["cluster"], row["commit_seq"], row["date"]) == ("c", 7, at.date())
