from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.transforms.plain_rows import plain

Key = tuple[Any, ...]
"""(cluster) or (cluster, job); the job is None for rows without one."""

Piece = tuple[list[Any], pa.StructArray]
"""The same rows as plain rows and as an array."""


_ALL: Mapping[str, Sequence[str] | None] = {}


@dataclass
class Group:
    key: Key
    parts: dict[str, list[Piece]] = field(default_factory=dict)
    size: int = 0

    def rows(self, part: str) -> list[Any]:
        pieces = self.parts.get(part, ())
        return pieces[0][0] if len(pieces) == 1 else [row for rows, _ in pieces for row in rows]

    def arrays(self, part: str) -> list[pa.StructArray]:
        return [array for _, array in self.parts.get(part, ())]


def groups(
    batches: Iterable[pa.RecordBatch],
    read: Mapping[str, Sequence[str] | None] = _ALL,
    keys: int = 2,
) -> Iterator[Group]:
    """``batches``: sorted by the key columns, which come first. Other columns are the structs of
    parts, of which a row has one. ``read``: part → fields of its plain rows. Without an entry,
    these are all; if it is empty, there are no plain rows.
    """
    current: Group | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        parts = {
            name: _Part(batch.column(index), read.get(name))
            for index, name in enumerate(batch.schema.names)
            if index >= keys
        }
        key_of = list(zip(*(batch.column(index).to_pylist() for index in range(keys)), strict=True))
        begin = 0
        while begin < len(key_of):
            end = begin + 1
            while end < len(key_of) and key_of[end] == key_of[begin]:
                end += 1
            if current is None or current.key != key_of[begin]:
                if current is not None:
                    yield current
                current = Group(key_of[begin])
            for name, part in parts.items():
                piece = part.between(begin, end)
                if piece is not None:
                    current.parts.setdefault(name, []).append(piece)
            current.size += end - begin
            begin = end
    if current is not None:
        yield current


class _Part:
    def __init__(self, column: pa.StructArray, read: Sequence[str] | None) -> None:
        self._indexes = np.flatnonzero(np.asarray(pc.is_valid(column)))
        self._array = column.filter(pc.is_valid(column)) if column.null_count else column
        is_read = len(self._indexes) and read != ()
        self._rows = (
            plain(select_fields(self._array, read)) if is_read else [None] * len(self._indexes)
        )

    def between(self, begin: int, end: int) -> Piece | None:
        first, last = np.searchsorted(self._indexes, (begin, end))
        if first == last:
            return None
        return self._rows[first:last], self._array.slice(first, last - first)


def select_fields(rows: pa.StructArray, read: Sequence[str] | None) -> pa.StructArray:
    if read is None:
        return rows
    return pa.StructArray.from_arrays([rows.field(name) for name in read], names=list(read))
