"""Makes the X-ray of a ``_metadata`` file by columns, without an object for each reference. Reads
the file to its end first; a damaged, incomplete or too large file raises.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from django.utils.translation import gettext

from ingest.errors import Refused
from ingest.metadata import columns
from ingest.metadata.files import MetadataFile
from ingest.metadata.owners import owner_directory
from ingest.metadata.pieces import End, Handle, Header, KeyedState, Operator, Piece, Subtask
from webapp.storage.xray import measures
from webapp.storage.xray.contents import Xray

MOST_BYTES = 100_000_000
MOST_HANDLES = 300_000
"""About half a gigabyte while it is read: what one request may take of a web server.

The command line has no such bound.
"""
_KEPT = (
    "operator_id",
    "subtask",
    "kind",
    "path",
    "offset_bytes",
    "size_bytes",
    "state_bytes",
    "inline_at",
    "states",
)
_CODED = ("operator_id", "kind")


class TooLarge(Refused):
    """Larger than a page may read; the command line reads it."""


def read(file: MetadataFile) -> Xray:
    """Raises ``MetadataError``, ``OSError`` and :class:`TooLarge`."""
    return _xray(file, *_table(file))


class Seen:
    def __init__(self) -> None:
        self.header: Header | None = None
        self.end: End | None = None
        self.operators: dict[str, Operator] = {}
        self.finished: dict[str, int] = {}
        self.absolute = 0
        self.uploaded: dict[str, int | None] = {}
        """By operator, as Flink counts; ``None`` if some keyed state does not say (before 1.15)."""

    def watch(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, Header):
                self.header = piece
            elif isinstance(piece, Operator):
                self.operators[piece.operator_id] = piece
            elif isinstance(piece, Subtask):
                self.finished[piece.operator.operator_id] = (
                    self.finished.get(piece.operator.operator_id, 0) + piece.finished
                )
            elif isinstance(piece, Handle | KeyedState):
                self._add(piece.operator.operator_id, _uploaded_bytes(piece))
            elif isinstance(piece, End):
                self.end = piece
            yield piece

    def _add(self, operator_id: str, uploaded: int | None) -> None:
        known = self.uploaded.get(operator_id, 0)
        self.uploaded[operator_id] = None if known is None or uploaded is None else known + uploaded


def _uploaded_bytes(piece: Handle | KeyedState) -> int | None:
    if isinstance(piece, Handle):
        return piece.state_bytes
    if piece.keyed.checkpointed_bytes is not None or not piece.keyed.state_class.startswith(
        "KeyGroups"
    ):
        return piece.keyed.checkpointed_bytes
    return sum(part.state_bytes for part in piece.parts if isinstance(part, Handle))


def _table(file: MetadataFile) -> tuple[Seen, pa.Table]:
    if file.size is not None and file.size > MOST_BYTES:
        raise TooLarge(
            gettext("It has %(size)s bytes; a page reads %(most_bytes)s at most.")
            % {"size": f"{file.size:,}", "most_bytes": f"{MOST_BYTES:,}"}
        )
    seen, kept, rows = Seen(), [], 0
    for batch in columns.batches(seen.watch(file.pieces())):
        rows += batch.num_rows
        if rows > MOST_HANDLES:
            raise TooLarge(
                gettext("It has more than %(most_handles)s handles.")
                % {"most_handles": f"{MOST_HANDLES:,}"}
            )
        seen.absolute += measures.absolute(batch)
        kept.append(batch.select(_KEPT))
    schema = pa.schema([columns.SCHEMA.field(name) for name in _KEPT])
    table = pa.Table.from_batches(kept, schema)
    for name in _CODED:
        table = table.set_column(
            table.column_names.index(name), name, table[name].cast(pa.string())
        )
    return seen, table


def _xray(file: MetadataFile, seen: Seen, table: pa.Table) -> Xray:
    if seen.header is None or seen.end is None:
        raise ValueError(gettext("%(path)s was not read to its end.") % {"path": file.path})
    owner = owner_directory(file.directory)
    files = measures.distinct_files(table)
    directories, directories_left_out = measures.directories(files, owner)
    foreign = measures.foreign(files, owner)
    operators, operators_left_out = measures.operators(
        table, seen.operators, seen.finished, seen.uploaded
    )
    states, states_left_out = measures.listed_states(table, seen.operators)
    properties = seen.end.properties
    inline = table.filter(pc.is_valid(table["inline_at"]))
    uploads = list(seen.uploaded.values())
    return Xray(
        metadata_path=file.path,
        metadata_bytes=seen.end.bytes,
        checkpoint_id=seen.header.checkpoint_id,
        format_version=seen.header.dialect.version,
        format_name=seen.header.dialect.name,
        type_name=properties.name if properties else "",
        savepoint_format=(properties.savepoint_format or "") if properties else "",
        handles=table.num_rows,
        state_bytes=measures.total(table["state_bytes"]),
        uploaded_bytes=None if None in uploads else sum(upload or 0 for upload in uploads),
        inline_handles=inline.num_rows,
        inline_bytes=measures.total(inline["size_bytes"]),
        files=files.num_rows,
        file_bytes=measures.total(files["bytes"]),
        segments=table.num_rows - table["offset_bytes"].null_count,
        absolute=seen.absolute,
        foreign_files=foreign.num_rows,
        foreign_bytes=measures.total(foreign["bytes"]),
        operators=operators,
        operators_left_out=operators_left_out,
        directories=directories,
        directories_left_out=directories_left_out,
        states=states,
        states_left_out=states_left_out,
        sizes=measures.size_buckets(files["bytes"]),
    )
