from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Counts = npt.NDArray[np.int64]


def coded(values: Sequence[str | None], counts: Counts) -> pa.Array:
    """A dictionary-encoded column: each value as often as its count."""
    distinct = [value for value in dict.fromkeys(values) if value is not None]
    code_of: dict[str | None, int] = {value: code for code, value in enumerate(distinct)}
    code_of[None] = -1
    codes = np.array([code_of[value] for value in values], np.int32)
    rows = np.repeat(codes, counts)
    indices = pa.Array.from_buffers(
        pa.int32(), len(rows), [_validity(rows >= 0), pa.py_buffer(rows)]
    )
    return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, pa.string()))


def repeated(values: Sequence[int | None], counts: Counts, type_: pa.DataType) -> pa.Array:
    is_present = np.repeat(np.array([value is not None for value in values], np.bool_), counts)
    rows = np.repeat(np.array([value or 0 for value in values], type_.to_pandas_dtype()), counts)
    return pa.Array.from_buffers(type_, len(rows), [_validity(is_present), pa.py_buffer(rows)])


def numbers(
    rows: npt.NDArray[np.int64], is_present: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    return pa.Array.from_buffers(
        pa.int64(),
        len(rows),
        [None if is_present is None else _validity(is_present), pa.py_buffer(rows)],
    )


def text(pieces: Sequence[bytes], lengths: npt.NDArray[np.int64]) -> pa.Array:
    """Texts of ``lengths`` bytes (-1: null). ``pieces``: their UTF-8 bytes, in the order of rows."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.maximum(lengths, 0), out=offsets[1:])
    # int32 is enough, since batches end long before 2 GiB of text.
    buffers = [
        _validity(lengths >= 0),
        pa.py_buffer(offsets.astype(np.int32)),
        pa.py_buffer(b"".join(pieces)),
    ]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


def sparse_text(values: Sequence[tuple[int, str | None]], rows: int) -> pa.Array:
    """A text column of ``rows`` rows from (row, text), ascending by row. Other rows are null."""
    present = [(row, value.encode()) for row, value in values if value is not None]
    lengths = np.full(rows, -1, np.int64)
    lengths[[row for row, _ in present]] = [len(value) for _, value in present]
    return text([value for _, value in present], lengths)


def sparse_numbers(values: Sequence[tuple[int, int | None]], rows: int) -> pa.Array:
    present = [(row, value) for row, value in values if value is not None]
    rows_present = [row for row, _ in present]
    column = np.zeros(rows, np.int64)
    column[rows_present] = [value for _, value in present]
    is_present = np.zeros(rows, np.bool_)
    is_present[rows_present] = True
    return numbers(column, is_present)


def _validity(is_present: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    return None if is_present.all() else pa.py_buffer(np.packbits(is_present, bitorder="little"))
