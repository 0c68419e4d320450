"""Imports an inventory as a listing. An unreadable row stops the import, since files that are not
listed would look missing.
"""

import re
import uuid
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc

from ingest.errors import Refused, words_of
from ingest.messages import Message, message
from ingest.network.unopened import as_os_error
from ingest.redaction.texts import redact
from ingest.storage.instants import refuse_future
from ingest.storage.inventory_files import LONGEST_RUN, Inventory, find_inventory, verify
from ingest.storage.inventory_rows import InventoryRows, as_text, read_rows, unreadable
from ingest.storage.roots import Root
from ingest.storage.snapshots import INSTANT, SCHEMA, Listed, Part, Progress, Snapshot
from ingest.uris import PLAIN, Spellings, canonical, canonical_column

_ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"
_OSS_TIME = r"T(\d\d)-(\d\d)-(\d\d)Z$"
_SECONDS = r"^-?\d{1,15}(\.\d{1,9})?$"
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
FARTHEST_ZONE = timedelta(hours=14)
MOST_COMPARED = 500_000
_FILE_SYSTEMS = ("file", "hdfs", "viewfs", "webhdfs")
_AZURE = ("abfs", "wasb", "az")
_MALFORMED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def import_inventory(
    file: str,
    root: Root,
    out_dir: str,
    as_of: datetime | None = None,
    *,
    spellings: Spellings = PLAIN,
    at: datetime | None = None,
) -> Listed:
    """Import the files below ``root`` from ``file`` (a file, a folder, a glob or a manifest) into
    ``out_dir``, in the form of ``listing.list_root``. Raises ``Refused``.

    ``as_of``: when the inventory began, by default as its manifest, name or file times say. No row
    may be newer. Relative paths are below the root; ``/a`` is on the root's file system. Times are
    ISO 8601 (UTC without a zone), or seconds or milliseconds since 1970. Only the latest version of
    an object is a file.
    """
    inventory = find_inventory(file)
    inventory.refuse_other_root(root.uri)
    latest = inventory.latest if as_of is None else as_of + LONGEST_RUN + FARTHEST_ZONE
    begin = as_of or inventory.begun
    if begin is None:
        raise Refused(
            message(
                "Nothing says when the inventory {file:name} was begun; give --as-of.", file=file
            )
        )
    if as_of is None:
        begin = refuse_future(begin, at or datetime.now(UTC), f"The time of the inventory {file}")
        begin = begin.replace(microsecond=begin.microsecond // 1000 * 1000)
    snapshot = Snapshot(out_dir)
    snapshot.begin({"root": root.uri, "inventory": redact(str(file)), "as_of": begin.isoformat()})
    rows = _Rows(root, spellings, begin, latest, set() if inventory.is_gathered else None)
    name = file
    try:
        with as_os_error():
            for inventory_file in inventory.files:
                name = inventory_file.name
                verify(inventory_file, inventory.name)
                table = read_rows(
                    inventory_file.name,
                    inventory.columns,
                    delimiter=inventory.delimiter,
                    bucket=rows.bucket,
                )
                with Part(snapshot, f"part-{uuid.uuid4().hex}.parquet") as part:
                    rows.add(inventory_file.name, table, part)
            rows.refuse_if_short(inventory)
    except (OSError, EOFError, pa.ArrowException, ValueError, ImportError, zlib.error) as error:
        raise Refused(
            message(
                "{file:name} of the inventory cannot be read ({error:text}): it is no CSV, Parquet "
                "or ORC, or was cut off.",
                file=name,
                error=words_of(error),
            )
        ) from error
    return snapshot.finish(root.uri, root.read_at, begin, rows.parts)


class _Rows:
    """Turns rows of an inventory into rows of a listing. ``hashes``: of some paths, to find a
    repeated one; None if no path can repeat. ``outlier``: a path outside the root.
    """

    def __init__(
        self,
        root: Root,
        spellings: Spellings,
        begin: datetime,
        latest: datetime | None,
        hashes: set[int] | None,
    ) -> None:
        self.root, self.spellings, self.begun, self.latest = root, spellings, begin, latest
        self.top = root.uri[: len(root.uri) - len(_path_of(root.uri))]
        self.scheme = root.uri.partition(":")[0]
        self.bucket = self.top.partition("://")[2]
        self.rows = self.files = 0
        self.outlier = ""
        self.hashes, self.divisor = hashes, 1
        self.kinds: set[str] = set()
        self.parts: list[Progress] = []

    def add(self, file: str, table: InventoryRows, part: Part) -> None:
        self.kinds.add(table.kind)
        if len(self.kinds) > 1:
            raise Refused(
                message(
                    "{file:name} is {kind:name}, and other files are {kinds:names}: are they one "
                    "inventory twice? Name the files of one.",
                    file=file,
                    kind=table.kind,
                    kinds=sorted(self.kinds - {table.kind}),
                )
            )
        for numbers, batch in table.batches:
            part.write(_Batch(self, file, table, numbers, batch).listing_rows())
        self.parts.append(part.progress)

    def refuse_repeated(self, paths: pa.Array) -> None:
        """For files without a manifest, such as all below ``data/`` of S3 Inventory."""
        if self.hashes is None:
            return
        for name in paths.to_pylist():
            hashed = hash(name)
            if hashed % self.divisor:
                continue
            if hashed in self.hashes:
                raise Refused(
                    message(
                        "{path:name} stands twice in the files: are they of several inventories? "
                        "Name the manifest of one.",
                        path=name,
                    )
                )
            self.hashes.add(hashed)
            if len(self.hashes) > MOST_COMPARED:
                self.divisor *= 2
                self.hashes = {other for other in self.hashes if not other % self.divisor}

    def refuse_if_short(self, inventory: Inventory) -> None:
        if inventory.rows not in (None, self.rows):
            raise Refused(
                message(
                    "The files of {inventory:name} have {rows:count} rows together, not "
                    "{expected:text} as it says; fetch all of them again.",
                    inventory=inventory.name,
                    rows=self.rows,
                    expected=str(inventory.rows),
                )
            )
        if self.files and not any(part.files for part in self.parts):
            raise Refused(
                message(
                    "None of the {rows:count} files of {inventory:name} is below {root:name}; one "
                    "is {path:name}. Check the root, and that this is its inventory.",
                    rows=self.files,
                    inventory=inventory.name,
                    root=self.root.uri,
                    path=self.outlier,
                )
            )


@dataclass
class _Batch:
    rows: _Rows
    file: str
    table: InventoryRows
    numbers: pa.Array
    batch: pa.RecordBatch

    def listing_rows(self) -> pa.RecordBatch:
        self.rows.rows += len(self.batch)
        self._keep(pc.and_(self._is_current(), pc.invert(self._is_directory())))
        sizes = self._sizes()
        modified = self._modified()
        paths, uris = self._uris()
        self.rows.files += len(uris)
        in_root = _is_below(uris, self.rows.root.uri)
        if not self.rows.outlier and (at := pc.index(in_root, False).as_py()) >= 0:
            self.rows.outlier = uris[at].as_py()
        self._keep(in_root)
        paths, uris, modified = (column.filter(in_root) for column in (paths, uris, modified))
        self._refuse_newer(modified)
        self.rows.refuse_repeated(paths)
        return pa.record_batch(
            [
                pa.repeat(self.rows.root.uri, len(uris)),
                uris,
                self._readable(paths, uris),
                sizes.filter(in_root),
                modified,
                self._replication(),
            ],
            schema=SCHEMA,
        )

    def _keep(self, mask: pa.Array) -> None:
        self.numbers, self.batch = self.numbers.filter(mask), self.batch.filter(mask)

    def _place(self, at: int) -> tuple[str, Message]:
        return self.file, self.table.place(self.numbers[at].as_py())

    def _refuse_unless(self, is_valid: pa.Array, values: pa.Array, expected: Message) -> None:
        at = pc.index(is_valid, False).as_py()
        if at >= 0:
            raise unreadable(*self._place(at), expected, values[at].as_py())

    def _column(self, meaning: str) -> pa.Array | None:
        return self.batch.column(meaning) if meaning in self.batch.schema.names else None

    def _text(self, meaning: str) -> pa.Array | None:
        column = self._column(meaning)
        return None if column is None else pc.fill_null(as_text(column, self._place), "")

    def _flag(self, meaning: str) -> pa.Array | None:
        column = self._column(meaning)
        if column is None or pa.types.is_boolean(column.type):
            return column
        words = pc.ascii_lower(self._text(meaning))
        self._refuse_unless(_is_in(words, "true", "false", ""), words, message("true or false"))
        return pc.if_else(pc.equal(words, ""), None, pc.equal(words, "true"))

    def _is_current(self) -> pa.Array:
        latest, version = self._flag("is_latest"), self._text("version")
        is_version = None if version is None else pc.invert(_is_in(version, "", "null"))
        current = pa.repeat(True, len(self.batch))
        if latest is not None:
            # Azure leaves IsCurrentVersion empty for older versions, and for blobs without versions.
            default = current if is_version is None else pc.invert(is_version)
            current = pc.if_else(pc.is_null(latest), default, latest)
        elif is_version is not None:
            self._refuse_unless(
                pc.invert(is_version),
                version,
                message("a column that says which version is the latest (IsLatest)"),
            )
        if (deleted := self._flag("is_deleted")) is not None:
            current = pc.and_not(current, pc.fill_null(deleted, False))
        for meaning in ("deleted_at", "snapshot"):
            if (texts := self._text(meaning)) is not None:
                current = pc.and_(current, pc.equal(texts, ""))
        return current

    def _is_directory(self) -> pa.Array:
        """HDFS and Azure's Data Lake list directories; object stores have placeholders."""
        path = self._text(self._path_column())
        size = self._text("bytes")
        is_directory = pc.and_(pc.ends_with(path, "/"), _is_in(size, "", "0"))
        if (flag := self._flag("is_directory")) is not None:
            is_directory = pc.or_(is_directory, pc.fill_null(flag, False))
        if (permission := self._text("permission")) is not None:
            is_directory = pc.or_(is_directory, pc.starts_with(permission, "d"))
            if (copies := self._text("replication")) is not None:
                unmarked = pc.equal(pc.utf8_length(permission), 9)
                is_directory = pc.or_(is_directory, pc.and_(unmarked, pc.equal(copies, "0")))
        return is_directory

    def _sizes(self) -> pa.Array:
        texts = self._text("bytes")
        sizes = _whole_numbers(texts)
        self._refuse_unless(pc.is_valid(sizes), texts, message("a size in bytes"))
        return sizes

    def _modified(self) -> pa.Array:
        column = self._column("modified")
        if column is None:
            return pa.nulls(len(self.batch), INSTANT)
        if pa.types.is_timestamp(column.type):
            return column.cast(INSTANT, safe=False)
        texts = self._text("modified")
        modified = instants(texts)
        self._refuse_unless(
            pc.or_(pc.is_valid(modified), pc.equal(texts, "")),
            texts,
            message("an instant, such as 2026-10-01T04:00:00Z"),
        )
        return modified

    def _replication(self) -> pa.Array:
        texts = self._text("replication")
        if texts is None:
            return pa.nulls(len(self.batch), pa.int64())
        copies = _whole_numbers(texts)
        return pc.if_else(pc.fill_null(pc.greater(copies, 0), False), copies, None)

    def _refuse_newer(self, modified: pa.Array) -> None:
        newest = pc.max(modified).as_py()
        if self.rows.latest and newest is not None and newest > self.rows.latest:
            file, place = self._place(pc.index(modified, pa.scalar(newest, modified.type)).as_py())
            raise Refused(
                message(
                    "{file:name}, {place:message}: the file was modified at {modified:name}, but "
                    "the inventory is of {as_of:name}. Check that its times are UTC, and give "
                    "--as-of: when it was begun.",
                    file=file,
                    place=place,
                    modified=newest.isoformat(),
                    as_of=self.rows.begun.isoformat(),
                )
            )

    def _path_column(self) -> str:
        return next(name for name in ("path", "key", "name") if name in self.batch.schema.names)

    def _uris(self) -> tuple[pa.Array, pa.Array]:
        names = self._text(self._path_column())
        if self.table.url_encoded:
            names = self._url_decoded(names)
        # After a quote that was not closed, a path has a line break: two rows are joined.
        is_path = pc.invert(pc.match_substring_regex(names, r"[\r\n]|^$"))
        self._refuse_unless(is_path, names, message("a path"))
        paths = self._absolute(names)
        uris = self._below_the_root(canonical_column(paths, self.rows.spellings))
        self._refuse_unless(pc.is_valid(uris), names, message("a path"))
        return paths, uris

    def _absolute(self, names: pa.Array) -> pa.Array:
        top, bucket = self.rows.top, self._text("bucket")
        if bucket is not None:
            if (account := self._text("account")) is not None:
                # The address of a bucket of COS contains the account.
                full_name = pc.binary_join_element_wise(bucket, account, "-")
                bucket = pc.if_else(pc.equal(full_name, self.rows.bucket), full_name, bucket)
            return pc.binary_join_element_wise(f"{self.rows.scheme}://", bucket, "/", names, "")
        column = self._path_column()
        if column != "path" and self.rows.bucket and self.rows.scheme not in _FILE_SYSTEMS:
            is_uri = pc.match_substring_regex(names, "^[A-Za-z][A-Za-z0-9+.-]*://")
            below = pc.binary_join_element_wise(top, names, "/")
            if self.rows.scheme in _AZURE and column == "name":
                # A name of Azure begins with the container.
                account = self.rows.bucket.partition("@")[2]
                parts = pc.extract_regex(names, "^(?P<container>[^/]*)/?(?P<name>(?s:.*))$")
                at = f"@{account}/" if account else "/"
                container, blob_name = parts.field(0), parts.field(1)
                below = pc.binary_join_element_wise(
                    f"{self.rows.scheme}://", container, at, blob_name, ""
                )
            return pc.if_else(is_uri, names, below)
        has_scheme = pc.match_substring_regex(names, "^[A-Za-z][A-Za-z0-9+.-]*:/")
        from_top = pc.binary_join_element_wise(top, names, "")
        below = pc.binary_join_element_wise(self.rows.root.uri.rstrip("/"), names, "/")
        return pc.if_else(
            has_scheme, names, pc.if_else(pc.starts_with(names, "/"), from_top, below)
        )

    def _url_decoded(self, names: pa.Array) -> pa.Array:
        encoded = pc.match_substring_regex(names, "[%+]")
        indexes = pc.indices_nonzero(encoded).to_pylist()
        if not indexes:
            return names
        decoded = []
        for index, name in zip(indexes, names.filter(encoded).to_pylist(), strict=True):
            try:
                if _MALFORMED.search(name):
                    raise ValueError
                decoded.append(unquote_plus(name, errors="strict"))
            except ValueError:
                raise unreadable(*self._place(index), message("a URL-encoded key"), name) from None
        return pc.replace_with_mask(names, encoded, pa.array(decoded, pa.string()))

    def _below_the_root(self, uris: pa.Array) -> pa.Array:
        if self.rows.root.read_at is None:
            return uris
        reading_uri = canonical(self.rows.root.reading)
        relative_path = pc.utf8_slice_codeunits(uris, len(reading_uri.rstrip("/")))
        return pc.if_else(
            _is_below(uris, reading_uri),
            pc.binary_join_element_wise(self.rows.root.uri.rstrip("/"), relative_path, ""),
            uris,
        )

    def _readable(self, paths: pa.Array, uris: pa.Array) -> pa.Array:
        prefix = self.rows.root.uri.rstrip("/")
        names = pc.if_else(pc.starts_with(paths, f"{prefix}/"), paths, uris)
        return pc.binary_join_element_wise(
            self.rows.root.reading.rstrip("/"), pc.utf8_slice_codeunits(names, len(prefix)), ""
        )


def instants(texts: pa.Array) -> pa.Array:
    try:
        return texts.cast(INSTANT)
    except pa.ArrowInvalid:
        texts = pc.ascii_trim_whitespace(texts)
    seconds = pc.if_else(pc.match_substring_regex(texts, _SECONDS), texts, None)
    numbers = seconds.cast(pa.float64())
    # 1e11 is the year 5138 in seconds, 1973 in milliseconds.
    in_ms = pc.greater_equal(pc.abs(numbers), 1e11)
    numbers = pc.round(pc.if_else(in_ms, numbers, pc.multiply(numbers, 1000.0)))
    in_calendar = pc.and_(pc.greater_equal(numbers, _FIRST_MS), pc.less_equal(numbers, _LAST_MS))
    since_1970 = pc.if_else(in_calendar, numbers, None).cast(pa.int64()).cast(INSTANT)
    texts = pc.replace_substring_regex(texts, r" ?(UTC|GMT)$", "Z")
    texts = pc.replace_substring_regex(texts, _OSS_TIME, r"T\1:\2:\3Z")
    iso = pc.if_else(pc.match_substring_regex(texts, _ISO), texts, None)
    iso = pc.replace_substring_regex(iso, r"(\.\d{3})\d+", r"\1")
    iso = pc.replace_substring_regex(iso, r"^(.{10})$", r"\1 00:00")
    has_zone = pc.match_substring_regex(iso, r"^.{16}.*(Z|[+-]\d\d(:?\d\d)?)$")
    iso = pc.if_else(has_zone, iso, pc.binary_join_element_wise(iso, "Z", ""))
    return pc.coalesce(since_1970, _cast_or_null(iso))


def _cast_or_null(texts: pa.Array) -> pa.Array:
    try:
        return texts.cast(INSTANT)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, INSTANT)
        half = len(texts) // 2
        halves = [_cast_or_null(texts[:half]), _cast_or_null(texts[half:])]
        return pa.concat_arrays(halves)


def _whole_numbers(texts: pa.Array) -> pa.Array:
    is_number = pc.match_substring_regex(texts, "^[0-9]{1,18}$")
    return pc.if_else(is_number, texts, None).cast(pa.int64())


def _is_in(texts: pa.Array, *values: str) -> pa.Array:
    return pc.is_in(texts, value_set=pa.array(values, pa.string()))


def _is_below(uris: pa.Array, root: str) -> pa.Array:
    return pc.fill_null(pc.starts_with(uris, root if root.endswith("/") else f"{root}/"), False)


def _path_of(uri: str) -> str:
    _, mark, location = uri.partition("://")
    if not mark:
        return uri.removeprefix("file:")
    at = location.find("/")
    return location[at:] if at >= 0 else ""
