"""An existing inventory (CSV, TSV or Parquet, packed or not) instead of a listing, in the same
form.

Understood by their header: ``hdfs oiv -p Delimited``, inventories and listings of object stores,
and anything with a column for path, size and modification time. ``hdfs dfs -ls -R`` is known by its
lines (:mod:`ingest.storage.dfs_lines`). Without a header the columns are path, bytes, modified, or
those given.
"""

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from ingest.errors import Refused
from ingest.messages import message
from ingest.parquet_stream import ParquetStream
from ingest.storage import dfs_lines
from ingest.storage.roots import Root, local_path
from ingest.storage.snapshots import SCHEMA, Listed, Part, Snapshot
from ingest.storage.unlisted import Unlisted
from ingest.uris import PLAIN, Spellings, canonical, canonical_column

DEFAULT = ("path", "bytes", "modified")
MOST_REPORTED = 100
_MEANINGS = {
    "path": ("path", "key", "name", "file", "uri", "filename"),
    "bytes": ("bytes", "size", "filesize", "length", "len", "contentlength"),
    "modified": (
        "modified",
        "mtime",
        "lastmodified",
        "lastmodifieddate",
        "modificationtime",
        "modtime",
        "updated",
    ),
    "bucket": ("bucket",),
    "permission": ("permission", "permissions"),
    "replication": ("replication", "replicas", "replicationfactor"),
}
"""Names in lower case and without anything but letters."""
_IMAGE = (
    *(
        "path",
        "replication",
        "modified",
        "accessed",
        "preferredblocksize",
        "blockscount",
        "filesize",
    ),
    *("nsquota", "dsquota", "permission", "user", "group"),
)
"""``hdfs oiv -p Delimited`` of Hadoop 2.7, which writes no header."""
_IMAGE_ROW = re.compile(
    r"/[^\t]*\t\d+\t\d{4}-\d\d-\d\d \d\d:\d\d\t\d{4}-\d\d-\d\d "
    r"\d\d:\d\d(?:\t-?\d+){5}\t[-rwxsStT]{9}\t[^\t]*\t[^\t]*"
)


@dataclass(frozen=True, slots=True)
class _Columns:
    names: tuple[str, ...]
    """As they come in the file."""
    header: bool

    def index(self, meaning: str) -> int | None:
        known = [_letters(name) for name in self.names]
        return next((known.index(name) for name in _MEANINGS[meaning] if name in known), None)

    def needed(self, meaning: str) -> int:
        """Raises ``Refused`` where there is none."""
        index = self.index(meaning)
        if index is None:
            raise Refused(
                message(
                    "The inventory has no column for the {meaning:text} among {join:name}; name "
                    "its columns in their order.",
                    meaning=meaning,
                    join=", ".join(self.names),
                )
            )
        return index


def import_inventory(
    file: str,
    root: Root,
    out_dir: str,
    as_of: datetime,
    columns: Sequence[str] | None = None,
    *,
    spellings: Spellings = PLAIN,
) -> Listed:
    """Takes what lies below ``root`` from ``file`` into ``out_dir``, as
    :func:`ingest.storage.listing.list_root` would leave it.

    ``as_of`` is when the inventory was begun. Relative paths are below the root, ``/a`` is of the
    root's file system, and where there is a column for the bucket, paths are below that. Times are
    ISO 8601 (UTC where they do not say) or seconds or milliseconds since 1970; others are unknown.
    Rows without a usable path or size are reported in ``unlisted``. Raises ``Refused`` where the
    file cannot be read or lacks a column.
    """
    snapshot = Snapshot(out_dir)
    snapshot.begin({"root": root.uri, "inventory": str(file), "as_of": as_of.isoformat()})
    try:
        columns_read, tables = _read(str(file), columns)
        columns_read.needed("path")
        columns_read.needed("bytes")
        with Part(snapshot, f"part-{uuid.uuid4().hex}.parquet") as part:
            rows = _Rows(root, spellings, columns_read, part)
            for table in tables:
                rows.add(table)
            part.progress.unlisted += rows.reported()
    except (OSError, pa.ArrowException, ValueError, ImportError) as error:
        raise Refused(
            message(
                "The inventory {file:name} cannot be read ({error:text}); it must be CSV, TSV "
                "or Parquet, compressed or not.",
                file=file,
                error=str(error),
            )
        ) from error
    return snapshot.finish(root.uri, root.read_at, as_of, [part.progress])


class _Rows:
    """Turns tables of text columns into rows of a listing."""

    def __init__(self, root: Root, spellings: Spellings, columns: _Columns, part: Part) -> None:
        self.root, self.spellings, self.columns, self.part = root, spellings, columns, part
        self.of_file_system = root.uri[: len(root.uri) - len(_path_of(root.uri))]
        self.bad = 0
        self.examples: list[Unlisted] = []

    def add(self, table: pa.RecordBatch) -> None:
        path = self._column(table, "path")
        keep = pc.invert(pc.fill_null(pc.ends_with(path, "/"), False))
        keep = pc.and_(keep, pc.invert(self._directories(table)))
        table, path = table.filter(keep), path.filter(keep)
        uris = self._below_the_root(canonical_column(self._absolute(table, path), self.spellings))
        sizes = _whole_numbers(self._column(table, "bytes"))
        usable = pc.and_(
            pc.is_valid(uris),
            pc.and_(pc.is_valid(sizes), pc.greater_equal(pc.fill_null(sizes, -1), 0)),
        )
        self._report(path.filter(pc.invert(usable)))
        mine = pc.and_(usable, _is_below(uris, self.root.uri))
        uris = uris.filter(mine)
        names = pc.utf8_slice_codeunits(uris, len(self.root.uri.rstrip("/")))
        batch = pa.record_batch(
            [
                pa.repeat(pa.scalar(self.root.uri), len(uris)),
                uris,
                pc.binary_join_element_wise(pa.scalar(self.root.reading.rstrip("/")), names, ""),
                sizes.filter(mine),
                self._modified(table).filter(mine),
                self._replication(table).filter(mine),
            ],
            schema=SCHEMA,
        )
        self.part.write(batch)

    def _directories(self, table: pa.RecordBatch) -> pa.Array:
        """HDFS lists them too.

        Images of Hadoop 2.7 leave out the first letter of permissions; they are stored 0 times
        there.
        """
        if (permission := self.columns.index("permission")) is None:
            return pa.repeat(pa.scalar(False), len(table))
        of = _text(table.column(permission))
        are_directories = pc.starts_with(of, "d")
        if (replication := self.columns.index("replication")) is not None:
            never_stored = pc.equal(_text(table.column(replication)), "0")
            are_directories = pc.or_(
                are_directories, pc.and_(pc.equal(pc.utf8_length(of), 9), never_stored)
            )
        return pc.fill_null(are_directories, False)

    def reported(self) -> list[Unlisted]:
        if self.bad > len(self.examples):
            more = message(
                "{bad:number} more rows have no usable path or size; check the program that "
                "wrote the inventory.",
                bad=self.bad - len(self.examples),
            )
            return [*self.examples, Unlisted(self.root.uri, "bad_row", more)]
        return self.examples

    def _column(self, table: pa.RecordBatch, meaning: str) -> pa.Array:
        return _text(table.column(self.columns.needed(meaning)))

    def _absolute(self, table: pa.RecordBatch, path: pa.Array) -> pa.Array:
        """In some spelling with a scheme."""
        bucket = self.columns.index("bucket")
        if bucket is not None:
            return pc.binary_join_element_wise("s3://", _text(table.column(bucket)), "/", path, "")
        has_scheme = pc.match_substring_regex(path, "^[A-Za-z][A-Za-z0-9+.-]*:/")
        on_top = pc.binary_join_element_wise(self.of_file_system, path, "")
        below = pc.binary_join_element_wise(self.root.uri.rstrip("/"), path, "/")
        return pc.if_else(has_scheme, path, pc.if_else(pc.starts_with(path, "/"), on_top, below))

    def _below_the_root(self, uris: pa.Array) -> pa.Array:
        """Those of where the root is read are the root's."""
        if self.root.read_at is None:
            return uris
        at = canonical(self.root.reading)
        rest = pc.utf8_slice_codeunits(uris, len(at.rstrip("/")))
        return pc.if_else(
            _is_below(uris, at),
            pc.binary_join_element_wise(self.root.uri.rstrip("/"), rest, ""),
            uris,
        )

    def _modified(self, table: pa.RecordBatch) -> pa.Array:
        if self.columns.index("modified") is None:
            return pa.nulls(len(table), SCHEMA.field("modified").type)
        return instants(self._column(table, "modified"))

    def _replication(self, table: pa.RecordBatch) -> pa.Array:
        if self.columns.index("replication") is None:
            return pa.nulls(len(table), pa.int64())
        copies = _whole_numbers(self._column(table, "replication"))
        return pc.if_else(pc.fill_null(pc.greater(copies, 0), False), copies, None)

    def _report(self, paths: pa.Array) -> None:
        self.bad += len(paths)
        for path in paths[: MOST_REPORTED - len(self.examples)].to_pylist():
            self.examples.append(
                Unlisted(
                    str(path),
                    "bad_row",
                    message(
                        "Its row has no usable path or size; check the program that wrote the "
                        "inventory."
                    ),
                )
            )


def instants(written: pa.Array) -> pa.Array:
    """UTC milliseconds of ISO 8601 and of seconds or milliseconds since 1970; null for what is
    neither.
    """
    values = written.to_pylist()
    return pa.array([_instant(value) for value in values], SCHEMA.field("modified").type)


def _instant(value: str | None) -> datetime | None:
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _iso(value)
    try:
        # A number beyond the year 5138 in seconds is 1973 in milliseconds.
        at = datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= 1e11 else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at


def _iso(value: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(value.strip())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _read(file: str, columns: Sequence[str] | None) -> tuple[_Columns, Iterator[pa.RecordBatch]]:
    if PurePosixPath(file).suffix.lower() in (".parquet", ".pq"):
        parquet = ParquetStream(fsspec.open(local_path(file), "rb").open())
        return _Columns(tuple(columns or parquet.schema_arrow.names), True), parquet.iter_batches()
    with fsspec.open(
        local_path(file), "rt", compression="infer", encoding="utf-8", newline=""
    ) as stream:
        first = stream.readline()
    if columns is None and dfs_lines.is_line(first):
        return _Columns(dfs_lines.COLUMNS, False), dfs_lines.batches(file)
    if columns is None and _IMAGE_ROW.fullmatch(first.rstrip("\r\n")):
        return _Columns(_IMAGE, False), _rows(file, "\t", _Columns(_IMAGE, False), len(_IMAGE))
    separator = "\t" if "\t" in first else ","
    fields = [field.strip().strip('"') for field in first.rstrip("\r\n").split(separator)]
    header = _Columns(tuple(fields), True)
    if header.index("path") is None or header.index("bytes") is None:
        header = _Columns(tuple(columns or DEFAULT), False)
    elif columns:
        header = _Columns(tuple(columns), True)
    if len(header.names) > len(fields):
        raise Refused(
            message(
                "{file:name} has {fields:number} columns, not {names:number} ({join:name}); "
                "name the columns that it has.",
                file=file,
                fields=len(fields),
                names=len(header.names),
                join=", ".join(header.names),
            )
        )
    return header, _rows(file, separator, header, len(fields))


def _rows(file: str, separator: str, columns: _Columns, width: int) -> Iterator[pa.RecordBatch]:
    names = [f"c{number}" for number in range(width)]
    with fsspec.open(local_path(file), "rb", compression="infer") as stream:
        reader = csv.open_csv(
            stream,
            csv.ReadOptions(
                column_names=names, skip_rows=1 if columns.header else 0, block_size=8 << 20
            ),
            csv.ParseOptions(delimiter=separator, newlines_in_values=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
        yield from reader


def _letters(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalpha())


def _text(column: Any) -> pa.Array:
    """Instants become ISO 8601."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_timestamp(column.type):
        return pa.array(
            [
                None if value is None else value.isoformat()
                for value in column.cast(pa.timestamp("ms", column.type.tz)).to_pylist()
            ]
        )
    return column.cast(pa.string())


def _whole_numbers(written: pa.Array) -> pa.Array:
    plain = pc.fill_null(pc.match_substring_regex(written, "^[0-9]{1,18}$"), False)
    return pc.if_else(plain, written, None).cast(pa.int64())


def _is_below(uris: pa.Array, root: str) -> pa.Array:
    return pc.fill_null(pc.starts_with(uris, root if root.endswith("/") else f"{root}/"), False)


def _path_of(uri: str) -> str:
    """``/b`` of ``s3://a/b`` and of ``file:/b``."""
    _, authority, rest = uri.partition("://")
    if not authority:
        return uri.removeprefix("file:")
    at = rest.find("/")
    return rest[at:] if at >= 0 else ""
