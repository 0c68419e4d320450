"""Rows of the lake table ``references``, also the cache of parsed files by path, size, modification
time and version of the reader. The row with ordinal 0 is that of the file and comes last: without
it, the file was not read to its end.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

import pyarrow as pa

from ingest.batches import filled
from ingest.lake.tables import REFERENCES
from ingest.metadata import columns
from ingest.metadata.files import MetadataFile
from ingest.metadata.owners import job_id_of, owner_directory
from ingest.metadata.pieces import End, Header, Piece
from ingest.metadata.reader import READER_VERSION
from ingest.records import NamedListState, Reference
from ingest.storage.instants import cut

SCHEMA = REFERENCES.columns


def key_of(file: MetadataFile) -> dict[str, Any]:
    return {
        "metadata_path": file.path,
        "metadata_bytes": file.size,
        "metadata_modified": cut(file.modified and file.modified.astimezone(UTC)),
        "reader_version": READER_VERSION,
    }


def reference_batches(file: MetadataFile) -> Iterator[pa.RecordBatch]:
    rows = _FileRows(file)
    for batch in columns.batches(rows.watch(file.pieces())):
        rows.handles += batch.num_rows
        yield rows.handle_rows(batch)
    yield rows.file_row()


def references(file: MetadataFile) -> Iterator[Reference]:
    for batch in reference_batches(file):
        for row in batch.to_pylist():
            states = row.pop("states")
            yield Reference(
                **row,
                states=None
                if states is None
                else tuple(NamedListState(**state) for state in states),
            )


class _FileRows:
    def __init__(self, file: MetadataFile) -> None:
        self.file = file
        self.header: Header | None = None
        self.end: End | None = None
        self.handles = 0

    def watch(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, Header):
                self.header = piece
            elif isinstance(piece, End):
                self.end = piece
            yield piece

    def handle_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        ordinals = pa.array(range(self.handles - batch.num_rows + 1, self.handles + 1), pa.int64())
        return filled(batch, SCHEMA, self._common() | {"ordinal": ordinals})

    def file_row(self) -> pa.RecordBatch:
        properties = self.end.properties if self.end else None
        row = self._common() | {"ordinal": 0, "kind": "file", "handles": self.handles}
        if properties:
            row["checkpoint_type"] = properties.name
            row["savepoint_format"] = properties.savepoint_format
        return pa.RecordBatch.from_pylist([row], schema=SCHEMA)

    def _common(self) -> dict[str, Any]:
        return {
            **key_of(self.file),
            "job_id": job_id_of(owner_directory(self.file.directory)),
            "checkpoint_id": self.header.checkpoint_id if self.header else None,
            "format_version": self.header.dialect.version if self.header else None,
        }
