"""Makes the X-ray of a ``_metadata`` file in columns, without an object for each reference. Raises
if the file is damaged, incomplete or too large.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

import pyarrow as pa
from django.core.cache import cache
from django.utils.translation import gettext

from ingest.errors import Refused
from ingest.metadata import columns
from ingest.metadata.files import MetadataFile
from ingest.metadata.owners import owner_directory
from ingest.metadata.pieces import End, Header, Operator, Piece, Subtask
from ingest.metadata.reader import READER_VERSION
from webapp.storage.xray import measures
from webapp.storage.xray.contents import Xray

MOST_BYTES = 100_000_000
MOST_HANDLES = 300_000
"""Reading them takes about half a gigabyte, the most that one request may use."""
CACHED_S = 24 * 3600
_XRAY_VERSION = 5
"""Raise it with every change of ``Xray``, which is cached."""
_COLUMNS = (
    "operator_id",
    "subtask",
    "path",
    "offset_bytes",
    "size_bytes",
    "state_bytes",
    "states",
)


class TooLarge(Refused):
    """Larger than a page may read."""


class SmallPieces:
    """Remembers all pieces except handles while a file is read."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.end: End | None = None
        self.operators: dict[str, Operator] = {}
        self.finished: Counter[str] = Counter()

    def watch(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, Header):
                self.header = piece
            elif isinstance(piece, Operator):
                self.operators[piece.operator_id] = piece
            elif isinstance(piece, Subtask):
                self.finished[piece.operator.operator_id] += piece.finished
            elif isinstance(piece, End):
                self.end = piece
            yield piece


def xray(file: MetadataFile) -> Xray:
    """Cached :func:`read`; raises ``MetadataError``, ``OSError`` and :class:`TooLarge`."""
    # Without size and time, a changed file would not be noticed.
    if file.size is None or file.modified is None:
        return read(file)
    identity = f"{file.path}\t{file.size}\t{file.modified}"
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    key = f"xray:{_XRAY_VERSION}:{READER_VERSION}:{digest}"
    cached: Xray | None = cache.get(key)
    if cached is None:
        cached = read(file)
        cache.set(key, cached, CACHED_S)
    return cached


def read(file: MetadataFile) -> Xray:
    if file.size is not None and file.size > MOST_BYTES:
        raise TooLarge(
            gettext("It has %(size)s bytes; a page reads %(most_bytes)s at most.")
            % {"size": f"{file.size:,}", "most_bytes": f"{MOST_BYTES:,}"}
        )
    small, batches, rows, absolute = SmallPieces(), [], 0, 0
    for batch in columns.batches(small.watch(file.pieces())):
        rows += batch.num_rows
        if rows > MOST_HANDLES:
            raise TooLarge(
                gettext("It has more than %(most_handles)s handles.")
                % {"most_handles": f"{MOST_HANDLES:,}"}
            )
        absolute += measures.absolute(batch)
        batches.append(batch.select(_COLUMNS))
    schema = pa.schema([columns.SCHEMA.field(name) for name in _COLUMNS])
    table = pa.Table.from_batches(batches, schema)
    ids = table["operator_id"].cast(pa.string())
    table = table.set_column(table.column_names.index("operator_id"), "operator_id", ids)
    return _xray(file, small, table, absolute)


def _xray(file: MetadataFile, small: SmallPieces, table: pa.Table, absolute: int) -> Xray:
    if small.header is None or small.end is None:
        raise ValueError(gettext("%(path)s was not read to its end.") % {"path": file.path})
    owner = owner_directory(file.directory)
    files = measures.distinct_files(table)
    foreign = measures.foreign(files, owner)
    directories, directories_left_out = measures.directories(files, owner)
    operators, operators_left_out = measures.operators(table, small.operators, small.finished)
    states, states_left_out = measures.listed_states(table, small.operators)
    properties = small.end.properties
    return Xray(
        metadata_path=file.path,
        checkpoint_id=small.header.checkpoint_id,
        is_savepoint=properties is not None and "avepoint" in properties.name,
        handles=table.num_rows,
        state_bytes=measures.total(table["state_bytes"]),
        files=files.num_rows,
        file_bytes=measures.total(files["bytes"]),
        absolute=absolute,
        foreign_files=foreign.num_rows,
        foreign_bytes=measures.total(foreign["bytes"]),
        operators=operators,
        operators_left_out=operators_left_out,
        directories=directories,
        directories_left_out=directories_left_out,
        states=states,
        states_left_out=states_left_out,
    )
