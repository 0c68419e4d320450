"""Records and raw lake tables are the same contract, said once as classes and once as columns."""

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import get_args, get_type_hints

import pyarrow as pa
import pytest

from ingest.lake.rows import table_of, to_arrow
from ingest.lake.tables import CLUSTER, PROVENANCE, TABLES
from ingest.records import Observed, Record, type_of_table

ARROW_OF = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("ms", tz="UTC"),
}


def arrow_of(hint):
    """Arrow type of a field's annotation."""
    options = [option for option in get_args(hint) if option is not type(None) and option is not Ellipsis]
    if hint in ARROW_OF:
        return ARROW_OF[hint]
    if is_dataclass(hint):
        return pa.struct([(name, arrow_of(inner)) for name, inner in get_type_hints(hint).items()])
    if getattr(hint, "__origin__", None) is tuple:
        return pa.list_(arrow_of(options[0]))
    return arrow_of(options[0])


def test_every_table_has_its_record_class():
    assert set(type_of_table) == set(TABLES)
    assert set(get_args(Record)) == set(type_of_table.values())


@pytest.mark.parametrize("name", TABLES)
def test_fields_and_columns_have_the_same_names_in_the_same_order(name):
    assert [field.name for field in fields(type_of_table[name])] == [column.name for column in TABLES[name].columns]


@pytest.mark.parametrize("name", TABLES)
def test_fields_and_columns_have_the_same_types(name):
    hints = get_type_hints(type_of_table[name])
    for column in TABLES[name].columns:
        assert arrow_of(hints[column.name]) == column.type, column.name


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
    hints = get_type_hints(type_of_table[name])
    required = {str: "x", int: 1, datetime: at}
    record = type_of_table[name](**{field.name: required.get(hints[field.name]) for field in fields(type_of_table[name])})
    assert table_of(record) is TABLES[name]
    row = to_arrow(TABLES[name], [(Observed("c", at, "rest"), record)], 7).to_pylist()[0]
    assert (row["cluster"], row["commit_seq"], row["date"]) == ("c", 7, at.date())
