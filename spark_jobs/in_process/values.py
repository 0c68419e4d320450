"""Columns and tables as Python lists with an Arrow type. Instants and spans of time are whole microseconds."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

TEXT, INT, LONG, DOUBLE, FLAG, BYTES = pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.binary()
INSTANT, SPAN, NOTHING = pa.timestamp("us", tz="UTC"), pa.duration("us"), pa.null()

_ATOMS = {
    "string": T.StringType(), "bigint": T.LongType(), "long": T.LongType(), "int": T.IntegerType(), "integer": T.IntegerType(),
    "double": T.DoubleType(), "boolean": T.BooleanType(), "timestamp": T.TimestampType(), "binary": T.BinaryType(), "date": T.DateType(),
}  # fmt: skip


class Unsupported(Exception):
    """A plan asks for something that is not carried out in this process."""


@dataclass(frozen=True)
class Values:
    type: pa.DataType
    values: Sequence[Any]

    def take(self, rows: Iterable[int | None]) -> "Values":
        """Null where a row is None."""
        held = self.values
        return Values(self.type, [None if row is None else held[row] for row in rows])

    def to_arrow(self, wanted: pa.DataType | None = None) -> pa.Array:
        return pa.array(self.values, _stored(self.type)).cast(self.type).cast(wanted or self.type)


@dataclass(frozen=True)
class Table:
    """``qualifiers`` are names given to whole frames, one for each column, empty where there is none."""

    names: tuple[str, ...]
    columns: tuple[Values, ...]
    rows: int
    qualifiers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.qualifiers:
            object.__setattr__(self, "qualifiers", ("",) * len(self.names))

    def take(self, rows: Sequence[int | None]) -> "Table":
        return Table(self.names, tuple(column.take(rows) for column in self.columns), len(rows), self.qualifiers)

    def find(self, name: str, qualifier: str = "") -> int | None:
        """The place of a column; None where there is none, an error where there are several."""
        places = [at for at, given in enumerate(self.names) if given == name and qualifier in ("", self.qualifiers[at])]
        if len(places) > 1:
            raise Unsupported(f"The name {name} is ambiguous among {', '.join(self.names)}.")
        return places[0] if places else None

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_arrays([column.to_arrow() for column in self.columns], names=list(self.names))

    @property
    def schema(self) -> T.StructType:
        return T.StructType([T.StructField(name, spark_type(column.type)) for name, column in zip(self.names, self.columns, strict=True)])


def from_arrow(given: pa.Table) -> Table:
    return Table(tuple(given.column_names), tuple(_values(column) for column in given.columns), given.num_rows)


def empty(schema: T.StructType) -> Table:
    return Table(tuple(schema.fieldNames()), tuple(Values(arrow_type(field.dataType), []) for field in schema.fields), 0)


def _values(column: pa.ChunkedArray) -> Values:
    kept = plain(column.type)
    return Values(kept, column.cast(kept).cast(_stored(kept)).to_pylist())


def plain(type_: pa.DataType) -> pa.DataType:
    """The type as Spark has it: instants in microseconds of UTC, no large or encoded texts."""
    return arrow_type(from_arrow_type(type_, prefer_timestamp_ntz=False))


def _stored(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return LONG
    if pa.types.is_list(type_):
        return pa.list_(_stored(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _stored(field.type)) for field in type_])
    return type_


def arrow_type(type_: T.DataType) -> pa.DataType:
    if isinstance(type_, T.ArrayType):
        return pa.list_(arrow_type(type_.elementType))
    if isinstance(type_, T.StructType):
        return pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in type_.fields])
    return to_arrow_type(type_, timezone="UTC")


def spark_type(type_: pa.DataType) -> T.DataType:
    return from_arrow_type(type_, prefer_timestamp_ntz=False)


def parsed_type(text: str) -> T.DataType:
    """A type as the client writes it: a row as JSON, or the name of a plain type."""
    if text.lstrip().startswith("{"):
        return T.StructType.fromJson(json.loads(text))
    if text not in _ATOMS:
        raise Unsupported(f"the type {text}")
    return _ATOMS[text]


def parsed_row(text: str) -> T.StructType:
    row = parsed_type(text)
    if not isinstance(row, T.StructType):
        raise Unsupported(f"{text} as the columns of a table")
    return row


def common_type(types: Iterable[pa.DataType]) -> pa.DataType:
    """What values of these types become together; an empty array is one of anything."""
    found = NOTHING
    for type_ in types:
        if found == type_ or type_ == NOTHING:
            continue
        if found == NOTHING or _is_vague(found):
            found = type_
        elif pa.types.is_integer(found) and pa.types.is_integer(type_):
            found = LONG
        elif not (_is_vague(type_) or pa.types.is_nested(type_)):
            if not all(pa.types.is_integer(one) or pa.types.is_floating(one) for one in (found, type_)):
                raise Unsupported(f"{found} and {type_} as one type")
            found = DOUBLE
    return found


def _is_vague(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) and type_.value_type == NOTHING)


def order_key(value: Any) -> Any:
    """Sorts as Spark does: nulls first, members of structs and arrays in their order."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, tuple(order_key(member) for member in value.values()))
    if isinstance(value, list):
        return (1, tuple(order_key(member) for member in value))
    return (1, value)


def hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, hashable(member)) for name, member in value.items())
    return tuple(hashable(member) for member in value) if isinstance(value, list) else value
