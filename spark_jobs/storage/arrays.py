"""Operations on whole columns of one partition. In sums, ``index`` has each row's group, ``size``
is the number of groups.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Tables = Mapping[str, pa.Table]
"""Rows by part."""

UNKNOWN = np.iinfo(np.int64).min


def column(table: pa.Table, name: str) -> pa.Array:
    chunked = table.column(name)
    return (
        chunked.chunk(0)
        if chunked.num_chunks == 1
        else pa.concat_arrays([pa.array([], chunked.type), *chunked.chunks])
    )


def numbers(array: pa.Array, unknown: int = UNKNOWN) -> Numbers:
    """Whole numbers, or instants in microseconds."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz))
    return np.asarray(pc.fill_null(array.cast(pa.int64()), unknown))


def numbers_of(table: pa.Table, name: str, unknown: int = UNKNOWN) -> Numbers:
    return numbers(column(table, name), unknown)


def flags_of(table: pa.Table, name: str) -> Flags:
    return flags(column(table, name))


def flags(array: pa.Array) -> Flags:
    """Null is false."""
    return np.asarray(pc.fill_null(array, False))


def known(array: Numbers) -> Flags:
    is_known: Flags = array != UNKNOWN
    return is_known


def is_later(left: Numbers, right: Numbers) -> Flags:
    is_later: Flags = known(left) & known(right) & (left > right)
    return is_later


def optional(array: Numbers, kind: pa.DataType) -> pa.Array:
    return pa.array(array, pa.int64(), mask=~known(array)).cast(kind)


def texts(table: pa.Table, *names: str) -> pa.Array:
    """One text for each row, equal only if all columns are; null if one is null."""
    arrays = [column(table, name).cast(pa.string()) for name in names]
    return pc.binary_join_element_wise(*arrays, "\0") if len(arrays) > 1 else arrays[0]


def encode(*texts: pa.Array) -> tuple[list[Numbers], int]:
    """A number for each text, equal for equal texts of all arrays, and their count; no nulls."""
    encoded = pa.concat_arrays([pa.array([], pa.string()), *texts]).dictionary_encode()
    codes = np.asarray(encoded.indices).astype(np.int64)
    ends = np.cumsum([len(array) for array in texts])[:-1]
    return list(np.split(codes, ends)), len(encoded.dictionary)


def find_places(texts: pa.Array, among: pa.Array) -> Numbers:
    index = pc.index_in(texts, value_set=among, skip_nulls=True)
    return np.asarray(pc.fill_null(index, -1)).astype(np.int64)


def require_places(texts: pa.Array, among: pa.Array) -> Numbers:
    """Like ``find_places``; raises LookupError if a text is missing."""
    index = find_places(texts, among)
    if (index < 0).any():
        raise LookupError(
            f"{texts[int(np.argmin(index))].as_py()!r} is not among those that it should be one of."
        )
    return index


def places_in(rows: pa.Table, among: pa.Table, *names: str) -> Numbers:
    """For each row, the index in ``among`` of the row with equal ``names``, or -1."""
    if not among.num_rows:
        return np.full(rows.num_rows, -1)
    return find_places(texts(rows, *names), texts(among, *names))


def are_in(rows: pa.Table, among: pa.Table, *names: str) -> Flags:
    return places_in(rows, among, *names) >= 0


def distinct(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    return rows.group_by(list(names)).aggregate([]).select(list(names))


def take(array: pa.Array, index: Numbers) -> pa.Array:
    return array.take(pa.array(index, pa.int64(), mask=index < 0))


def sums(index: Numbers, values: Numbers, size: int) -> Numbers:
    """Sums of known ``values`` by group, at most the largest 64-bit integer."""
    is_known = known(values)
    index, values = index[is_known], values[is_known]
    if len(values) and values.max() > _LARGEST // len(values):
        exact = np.zeros(size, object)
        np.add.at(exact, index, values.astype(object))
        return np.minimum(exact, _LARGEST).astype(np.int64)
    totals: Numbers = np.zeros(size, np.int64)
    np.add.at(totals, index, values)
    return totals


_LARGEST = np.iinfo(np.int64).max


def counts(index: Numbers, size: int) -> Numbers:
    counted: Numbers = np.bincount(index, minlength=size).astype(np.int64)
    return counted


def maxima(index: Numbers, values: Numbers, size: int) -> Numbers:
    largest: Numbers = np.full(size, UNKNOWN)
    np.maximum.at(largest, index, values)
    return largest


def mark(index: Numbers, size: int) -> Flags:
    marks: Flags = np.zeros(size, np.bool_)
    marks[index] = True
    return marks


def table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """Missing columns are null."""
    rows = next((len(values) for values in columns.values()), 0)
    return pa.table(
        [_column(columns.get(field.name), field.type, rows) for field in schema], schema=schema
    )


def _column(values: Any, kind: pa.DataType, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, kind)
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return array if array.type == kind else array.cast(kind)


def with_column(rows: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, values)


def group(rows: pa.Table, key: Sequence[str]) -> tuple[pa.Table, Numbers]:
    """The distinct keys, and the index of each row's key."""
    numbered = rows.select(list(key)).append_column(
        "_at", pa.array(range(rows.num_rows), pa.int64())
    )
    groups = numbered.group_by(list(key)).aggregate([("_at", "list")])
    index: Numbers = np.zeros(rows.num_rows, np.int64)
    lists = column(groups, "_at_list")
    index[np.asarray(pc.list_flatten(lists))] = np.asarray(pc.list_parent_indices(lists))
    return groups.select(list(key)), index


def sum_rows(
    rows: pa.Table, key: Sequence[str], smallest: Sequence[str] = (), largest: Sequence[str] = ()
) -> pa.Table:
    """A row for each key, with ``smallest`` and ``largest`` values, else sums."""
    group_table, index = group(rows, key)
    for name in (name for name in rows.column_names if name not in key):
        if name in smallest or name in largest:
            which = "min" if name in smallest else "max"
            extremes = (
                pa.table({"at": index, name: rows.column(name)})
                .group_by("at")
                .aggregate([(name, which)])
                .sort_by("at")
            )
            group_table = group_table.append_column(name, extremes.column(f"{name}_{which}"))
        else:
            group_table = group_table.append_column(
                name, pa.array(sums(index, numbers_of(rows, name), group_table.num_rows))
            )
    return group_table


def without_repeated(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    _, index = group(rows, key)
    return rows.take(pa.array(np.unique(index, return_index=True)[1]))
