from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ingest.metadata import arrays, file_runs
from ingest.metadata.pieces import FileRun, Handle, Keyed, KeyedState, Operator, Piece

BATCH_ROWS = 32_768
BATCH_TEXT_BYTES = 64 << 20

_CODED = pa.dictionary(pa.int32(), pa.string())
_STATE = pa.struct([("name", pa.string()), ("mode", pa.string()), ("offsets", pa.int64())])

SCHEMA = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("operator_id", _CODED),
        ("operator_name", _CODED),
        ("subtask", pa.int32()),
        ("kind", _CODED),
        ("state_class", _CODED),
        ("handle_class", _CODED),
        ("path", pa.string()),
        ("written_path", pa.string()),
        ("offset_bytes", pa.int64()),
        ("size_bytes", pa.int64()),
        ("state_bytes", pa.int64()),
        ("inline_at", pa.int64()),
        ("name", pa.string()),
        ("local_name", pa.string()),
        ("backend_id", _CODED),
        ("handle_id", _CODED),
        ("checkpointed_bytes", pa.int64()),
        ("task_owned_directory", pa.string()),
        ("shared_directory", pa.string()),
        ("states", pa.list_(_STATE)),
    ]
)
"""Like ``records.Reference``, except that ``ordinal`` begins at 0."""


def batches(pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
    batch = _Batch(0)
    for piece in pieces:
        parts: Sequence[Handle | FileRun] = ()
        if isinstance(piece, KeyedState):
            parts = piece.parts
        elif isinstance(piece, Handle):
            parts = (piece,)
        for part in parts:
            batch.add(part)
            if batch.full:
                yield batch.close()
                batch = _Batch(batch.first + batch.rows)
    if batch.rows:
        yield batch.close()


_NOT_KEYED = Keyed("")


class _Owner(NamedTuple):
    operator: Operator
    subtask: int | None
    state_class: str
    keyed: Keyed


class _Batch:
    """``owners``: values that consecutive rows share; ``owner_rows`` has their first rows.
    ``handles``: (row, single handle). Other lists have one element per part.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.rows = 0
        self.text_bytes = 0
        self.owners: list[_Owner] = []
        self.owner_rows: list[int] = []
        self.counts: list[int] = []
        self.kinds: list[str] = []
        self.paths: list[bytes] = []

        self.path_lengths: list[int] = []
        self.local_names: list[bytes] = []
        self.name_lengths: list[int] = []
        self.sizes: list[bytes] = []
        self.classes: list[str | None] = []
        self.handles: list[tuple[int, Handle]] = []

    @property
    def full(self) -> bool:
        return self.rows >= BATCH_ROWS or self.text_bytes >= BATCH_TEXT_BYTES

    def add(self, part: Handle | FileRun) -> None:
        keyed = part.keyed
        if keyed is None or not self.owners or self.owners[-1].keyed is not keyed:
            state_class = part.keyed.state_class if isinstance(part, FileRun) else part.state_class
            self.owners.append(
                _Owner(part.operator, part.subtask, state_class, keyed or _NOT_KEYED)
            )
            self.owner_rows.append(self.rows)
        if isinstance(part, FileRun):
            count = part.files
            names, sizes, paths = file_runs.fields(part)
            self.name_lengths.append(part.name_length)
            self.path_lengths.append(part.path_length)
            self.classes.append("FileStateHandle")
        else:
            count = 1
            stream = part.stream
            path = stream.path if stream else None
            paths = path.encode() if path is not None else b""
            names = part.local_name.encode() if part.local_name is not None else b""
            sizes = (stream.bytes if stream else 0).to_bytes(8, "big")
            self.name_lengths.append(-1 if part.local_name is None else len(names))
            self.path_lengths.append(-1 if path is None else len(paths))
            self.classes.append(stream.handle_class if stream else None)
            self.handles.append((self.rows, part))
        self.kinds.append(part.kind)
        self.counts.append(count)
        self.paths.append(paths)
        self.local_names.append(names)
        self.sizes.append(sizes)
        self.rows += count
        self.text_bytes += len(paths)

    def close(self) -> pa.RecordBatch:
        columns = {
            **self._owner_columns(),
            **self._location_columns(),
            **self._keyed_columns(),
            **self._sparse_columns(),
        }
        return pa.record_batch([columns[name] for name in SCHEMA.names], schema=SCHEMA)

    def _owner_columns(self) -> dict[str, pa.Array]:
        self._counts = np.array(self.counts, np.int64)
        self._owner_counts = counts = np.diff(
            np.array([*self.owner_rows, self.rows], np.int64)
        ).astype(np.int64)
        operators = [owner.operator for owner in self.owners]
        return {
            "ordinal": arrays.numbers(
                np.arange(self.first, self.first + self.rows, dtype=np.int64)
            ),
            "operator_id": arrays.coded([operator.operator_id for operator in operators], counts),
            "operator_name": arrays.coded([operator.name for operator in operators], counts),
            "subtask": arrays.repeated(
                [owner.subtask for owner in self.owners], counts, pa.int32()
            ),
            "kind": arrays.coded(self.kinds, self._counts),
            "state_class": arrays.coded([owner.state_class for owner in self.owners], counts),
            "handle_class": arrays.coded(self.classes, self._counts),
        }

    def _location_columns(self) -> dict[str, pa.Array]:
        path = self._text(self.paths, self.path_lengths)
        sizes = np.frombuffer(b"".join(self.sizes), ">i8").astype(np.int64)
        has_value = np.repeat(
            np.array([class_ is not None for class_ in self.classes]), self._counts
        )
        state_bytes = sizes.copy()
        for row, handle in self.handles:
            state_bytes[row] = handle.state_bytes
        return {
            "path": path,
            "written_path": self._written_paths(path),
            "size_bytes": arrays.numbers(sizes, has_value),
            "state_bytes": arrays.numbers(state_bytes),
            "local_name": self._text(self.local_names, self.name_lengths),
        }

    def _written_paths(self, path: pa.Array) -> pa.Array:
        streams = [(row, handle.stream) for row, handle in self.handles if handle.stream]
        relative = {
            row: stream.written_path
            for row, stream in streams
            if stream.written_path != stream.path
        }
        if not relative:
            return path
        values = path.to_pylist()
        for row, written in relative.items():
            values[row] = written
        return pa.array(values, pa.string())

    def _text(self, pieces: list[bytes], lengths: list[int]) -> pa.Array:
        return arrays.text(pieces, np.repeat(np.array(lengths, np.int64), self._counts))

    def _keyed_columns(self) -> dict[str, pa.Array]:
        counts = self._owner_counts
        keyed = [owner.keyed for owner in self.owners]
        return {
            "backend_id": arrays.coded([state.backend_id for state in keyed], counts),
            "handle_id": arrays.coded([state.handle_id for state in keyed], counts),
            "checkpointed_bytes": arrays.repeated(
                [state.checkpointed_bytes for state in keyed], counts, pa.int64()
            ),
        }

    def _sparse_columns(self) -> dict[str, pa.Array]:
        streams = [(row, handle.stream) for row, handle in self.handles if handle.stream]
        directories = [
            (row, *handle.managed_directories)
            for row, handle in self.handles
            if handle.managed_directories
        ]
        states = [(row, handle.states) for row, handle in self.handles if handle.states is not None]
        sparse: dict[str, Iterable[tuple[int, Any]]] = {
            "offset_bytes": ((row, stream.offset) for row, stream in streams),
            "inline_at": ((row, stream.inline_at) for row, stream in streams),
            "name": ((row, stream.name) for row, stream in streams),
            "task_owned_directory": ((row, task_owned) for row, task_owned, _ in directories),
            "shared_directory": ((row, shared) for row, _, shared in directories),
            "states": ((row, [state._asdict() for state in named]) for row, named in states),
        }
        return {
            name: arrays.sparse(values, self.rows, SCHEMA.field(name).type)
            for name, values in sparse.items()
        }
