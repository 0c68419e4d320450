"""Raw lake tables, as they follow from the record classes."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import get_args, get_type_hints

import pyarrow as pa
import pytest

from ingest.lake.rows import table_of, to_arrow
from ingest.lake.tables import PROVENANCE, TABLE_OF_RECORD, TABLES
from ingest.records import Observed, Record

RECORD_OF = {table.name: record for record, table in TABLE_OF_RECORD.items()}
INSTANT = pa.timestamp("ms", tz="UTC")
EDGE = ("source_vertex_id", "target_vertex_id", "ship_strategy")


def test_every_record_class_has_its_table():
    assert set(TABLE_OF_RECORD) == set(get_args(Record))


@pytest.mark.parametrize(
    "table, name, type_",
    [
        ("checkpoints", "checkpoint_id", pa.int64()),
        ("checkpoints", "discarded", pa.bool_()),
        ("jobs", "end_time", INSTANT),
        ("jobs", "min_pause_ms", pa.int64()),
        ("jobs", "edges", pa.list_(pa.struct([(end, pa.string()) for end in EDGE]))),
        (
            "jobs",
            "state_since",
            pa.list_(pa.struct([("state", pa.string()), ("since", INSTANT)])),
        ),
        ("vertex_metrics", "busy_ms_per_s", pa.list_(pa.float64())),
        ("vertex_metrics", "host", pa.list_(pa.string())),
        ("taskmanagers", "cpu_load", pa.float64()),
    ],
)
def test_the_type_follows_from_the_field(table, name, type_):
    assert TABLES[table].columns.field(name).type == type_


@pytest.mark.parametrize("name", TABLES)
def test_identity_time_and_sorting_name_real_columns(name):
    table = TABLES[name]
    names = table.schema.names
    assert {*table.identity, *table.sort_by, table.time_column} <= set(names)
    assert names == ["cluster", *table.columns.names, *PROVENANCE.names]


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
