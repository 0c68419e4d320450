from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Counts = npt.NDArray[np.int64]


def coded(values: Sequence[str | None], counts: Counts) -> pa.Array:
    """A dictionary-encoded column: each value as often as its count."""
    return _repeat(pa.array(values, pa.string()).dictionary_encode(), counts)


def repeated(values: Sequence[int | None], counts: Counts, type_: pa.DataType) -> pa.Array:
    return _repeat(pa.array(values, type_), counts)


def _repeat(values: pa.Array, counts: Counts) -> pa.Array:
    return values.take(pa.array(np.repeat(np.arange(len(values)), counts)))


def numbers(
    rows: npt.NDArray[np.int64], is_present: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    return pa.array(rows, mask=None if is_present is None else ~is_present)


def text(pieces: Sequence[bytes], lengths: npt.NDArray[np.int64]) -> pa.Array:
    """Texts of ``lengths`` bytes (-1: null). ``pieces``: their UTF-8 bytes, in the order of rows."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.maximum(lengths, 0), out=offsets[1:])
    # int32 is enough, since batches end long before 2 GiB of text.
    buffers = [
        pa.py_buffer(np.packbits(lengths >= 0, bitorder="little")),
        pa.py_buffer(offsets.astype(np.int32)),
        pa.py_buffer(b"".join(pieces)),
    ]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


def sparse(values: Iterable[tuple[int, Any]], rows: int, type_: pa.DataType) -> pa.Array:
    """A column of ``rows`` rows from (row, value). Other rows are null."""
    by_row = dict(values)
    if not by_row:
        return pa.nulls(rows, type_)
    column = [None] * rows
    for row, value in by_row.items():
        column[row] = value
    return pa.array(column, type_)
