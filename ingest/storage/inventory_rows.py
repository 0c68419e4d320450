import csv as python_csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import IO, Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from pyarrow import orc

from ingest.errors import Refused
from ingest.messages import Message, message
from ingest.parquet_stream import ParquetStream
from ingest.storage.inventory_files import letters
from ingest.storage.roots import local_path

DEFAULT = ("path", "bytes", "modified")
MEANINGS = {
    "path": ("path", "file", "uri", "filename"),
    "key": ("key",),
    "name": ("name",),
    "bucket": ("bucket",),
    "account": ("appid",),
    "bytes": ("bytes", "size", "filesize", "length", "len", "contentlength"),
    "modified": (
        *("modified", "mtime", "lastmodified", "lastmodifieddate", "modificationtime", "modtime"),
        *("updated", "timecreated"),
    ),
    "permission": ("permission", "permissions"),
    "replication": ("replication", "replicas", "replicationfactor"),
    "version": ("versionid",),
    "is_latest": ("islatest", "iscurrentversion", "latest"),
    "is_deleted": ("isdeletemarker", "deletemarker", "deleted"),
    "deleted_at": ("timedeleted", "deletedtime", "softdeletetime"),
    "snapshot": ("snapshot",),
    "is_directory": ("hdiisfolder", "isdirectory", "isdir"),
}
"""What a column is for, by its name (:func:`letters`); the first name wins. Sources: S3 Inventory,
those of OSS, COS and OBS, Storage Insights and Azure's blob inventory (their lists of fields),
``hdfs oiv``.
"""
_OF_CHANGES = {"recordtype", "recordtimestamp", "sequencenumber"}
"""Columns of OSS's incremental inventory and S3 Metadata's journal."""
_IMAGE = (
    *("path", "replication", "modified", "accessed", "preferredblocksize", "blockscount"),
    *("filesize", "nsquota", "dsquota", "permission", "user", "group"),
)
"""``hdfs oiv -p Delimited`` of Hadoop 2.7, which writes no header."""
_IMAGE_ROW = re.compile(
    r"/[^\t]*\t\d+\t\d{4}-\d\d-\d\d \d\d:\d\d\t\d{4}-\d\d-\d\d "
    r"\d\d:\d\d(?:\t-?\d+){5}\t[-rwxsStT]{9}\t[^\t]*\t[^\t]*"
)
_IMAGE_HEADER = re.compile(r"Path(.+?)Replication\1ModificationTime\1")
_SEPARATORS = (",", "\t", ";", "|")
_BLOCK_BYTES = 4 << 20
_SAMPLE_BYTES = 256 << 10
_SAMPLE_ROWS = 1_000
_NUMBER, _FLAG = re.compile(r"\d{1,18}"), re.compile("true|false", re.IGNORECASE)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_ROWS_A_BATCH = 65_536
_LONGEST_BYTES = 32_000
"""Of a text of Parquet: HDFS has the longest paths, of 8,000 characters."""


@dataclass(frozen=True, slots=True)
class _Printed:
    """Lines of a tool: ``between`` matches lines between rows, ``total`` gives the number of rows."""

    by: str
    row: str
    between: re.Pattern[str] = re.compile("")
    total: re.Pattern[str] | None = None
    ends_with_total: bool = False


PRINTED = (
    # Times of HDFS's and AWS's tools are in the caller's local time, without a zone.
    _Printed(
        "hdfs dfs -ls -R",
        r"^(?P<permission>[-d][-rwxsStT]{9}[+.]?) +(?P<replication>\d+|-) +\S+ +\S+ +"
        r"(?P<bytes>\d+) +(?P<modified>\d{4}-\d\d-\d\d \d\d:\d\d) (?P<path>.+)$",
    ),
    _Printed(
        "aws s3 ls --recursive",
        r"^(?P<modified>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) +(?P<bytes>\d+) (?P<key>.+)$",
        re.compile(r"Total Objects: \d+|\s+Total Size: \d+"),
        re.compile(r"Total Objects: (\d+)"),
    ),
    _Printed(
        "gsutil ls -l -r",
        r"^ *(?P<bytes>\d+)  (?P<modified>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)  (?P<path>gs://.+)$",
        re.compile(r"gs://.*:"),
        re.compile(r"TOTAL: (\d+) objects?, \d+ bytes.*"),
        ends_with_total=True,
    ),
)
_NOT_RECURSIVE = re.compile(r"Found \d+ items?")

_Batch = tuple[pa.Array, pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class InventoryRows:
    """``place`` says where a row is. ``url_encoded``: as keys of S3 Inventory's CSV are. ``kind``
    is the same for all files of an inventory.
    """

    kind: str
    batches: Iterator[_Batch]
    place: Callable[[int], Message]
    url_encoded: bool = False


def unreadable(file: str, place: Message, expected: Message, found: object) -> Refused:
    return Refused(
        message(
            "{file:name}, {place:message}: {expected:message} is expected, not {found:text}. "
            "Nothing of the inventory was taken.",
            file=file,
            place=place,
            expected=expected,
            found=repr(found)[:200],
        )
    )


def line(number: int) -> Message:
    return message("line {line:count}", line=number)


def _line_of(file: str, numbers: pa.Array, at: int) -> tuple[str, Message]:
    return file, line(numbers[at].as_py())


def row(number: int) -> Message:
    return message("row {row:count}", row=number)


def read_rows(
    file: str,
    columns: Sequence[str] | None,
    *,
    delimiter: str | None = None,
    bucket: str = "",
) -> InventoryRows:
    """``columns``: of a file that certainly has no header. ``bucket`` is that of the root, by which
    S3 Inventory is known. Raises ``Refused``, also while batches are read, and errors of the
    storage.
    """
    with fsspec.open(local_path(file), "rb") as stream:
        magic = stream.read(4)
    if magic == b"PAR1":
        return _parquet(file, columns)
    if magic.startswith(b"ORC"):
        return _orc(file, columns)
    compression = "gzip" if magic.startswith(b"\x1f\x8b") else "infer"
    with fsspec.open(local_path(file), "rb", compression=compression) as stream:
        sample = stream.read(_SAMPLE_BYTES)
    text = sample.decode("utf-8-sig", "replace")
    first = text.partition("\n")[0].rstrip("\r")
    if columns is not None:
        return _separate(file, compression, columns, delimiter or ",", skip=0)
    if (printed := _printed_by(text)) is not None:
        return _lines(file, compression, printed)
    if _IMAGE_ROW.fullmatch(first):
        return _separate(file, compression, _IMAGE, "\t", skip=0)
    header, separator = _header(first, delimiter)
    if header is not None:
        return _separate(file, compression, header, separator, skip=1)
    whole = text if len(sample) < _SAMPLE_BYTES else text[: text.rfind("\n") + 1]
    guess = _guess(_fields(whole, separator), bucket)
    if guess is None:
        raise Refused(
            message(
                "{file:name} has no header, so it is not certain what each column holds. Name its "
                "manifest, or write the names of its columns into a first line, such as "
                "bucket,key,size,last_modified_date. Weir reads inventories of S3, Google, Azure "
                "and hdfs oiv (CSV, Parquet, ORC), and what {tools:names} print.",
                file=file,
                tools=[tool.by for tool in PRINTED],
            )
        )
    return _separate(file, compression, guess, separator, skip=0)


def _by_meaning(file: str, names: Sequence[str]) -> dict[str, int]:
    known = [letters(name) for name in names]
    found = {
        meaning: known.index(next(name for name in spelled if name in known))
        for meaning, spelled in MEANINGS.items()
        if set(spelled) & set(known)
    }
    if _OF_CHANGES & set(known):
        raise Refused(
            message(
                "{file:name} lists changes, not all files that are there; name a full inventory.",
                file=file,
            )
        )
    for needed in (("path", "key", "name"), ("bytes",)):
        if not found.keys() & set(needed):
            raise Refused(
                message(
                    "{file:name} has no column for the {meaning:text} among {names:text}; it is "
                    "needed of each file.",
                    file=file,
                    meaning=message("path") if "path" in needed else message("size"),
                    names=", ".join(names),
                )
            )
    return found


def _parquet(file: str, columns: Sequence[str] | None) -> InventoryRows:
    schema = ParquetStream(fsspec.open(local_path(file), "rb").open()).schema_arrow
    found = _by_meaning(file, columns or schema.names)
    wanted = [schema.names[place] for place in found.values()]
    texts = [name for name in wanted if pa.types.is_string(schema.field(name).type)]
    parquet = ParquetStream(fsspec.open(local_path(file), "rb").open(), encoded=texts)
    batches = _decode(file, parquet.iter_batches(_ROWS_A_BATCH, columns=wanted))
    return InventoryRows("Parquet", _number(batches, wanted, list(found)), row)


def _decode(file: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = []
        for column in batch.columns:
            if pa.types.is_dictionary(column.type):
                longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
                if longest > _LONGEST_BYTES:
                    raise Refused(
                        message(
                            "{file:name} has a value of {bytes:count} bytes, longer than any name. "
                            "Nothing of the inventory was taken.",
                            file=file,
                            bytes=longest,
                        )
                    )
                column = column.dictionary_decode()
            columns.append(column)
        yield pa.record_batch(columns, names=batch.schema.names)


def _orc(file: str, columns: Sequence[str] | None) -> InventoryRows:
    read = orc.ORCFile(fsspec.open(local_path(file), "rb").open())
    names = read.schema.names
    found = _by_meaning(file, columns or names)
    wanted = [names[place] for place in found.values()]
    stripes = (read.read_stripe(stripe, wanted) for stripe in range(read.nstripes))
    batches = (
        stripe.slice(first, _ROWS_A_BATCH)
        for stripe in stripes
        for first in range(0, len(stripe), _ROWS_A_BATCH)
    )
    return InventoryRows("ORC", _number(batches, wanted, list(found)), row)


def _number(
    batches: Iterator[pa.RecordBatch], names: Sequence[str], meanings: Sequence[str]
) -> Iterator[_Batch]:
    before = 1
    for batch in batches:
        columns = [batch.column(name) for name in names]
        numbers = pa.array(np.arange(before, before + len(batch)))
        yield numbers, pa.record_batch(columns, names=meanings)
        before += len(batch)


def _separate(
    file: str,
    compression: str,
    names: Sequence[str],
    separator: str,
    *,
    skip: int,
) -> InventoryRows:
    if len(separator) != 1:
        raise Refused(
            message(
                "{file:name} has {separator:name} between its columns; write it with one character, "
                "as hdfs oiv does with -delimiter.",
                file=file,
                separator=separator,
            )
        )
    found = _by_meaning(file, names)
    places = {f"c{place}": meaning for meaning, place in found.items()}

    def numbered() -> Iterator[_Batch]:
        for numbers, batch in _arrow_csv(
            file, compression, len(names), list(places), separator, skip
        ):
            yield numbers, batch.rename_columns([places[name] for name in batch.schema.names])

    is_of_s3 = {"bucket", "key"} <= found.keys()
    return InventoryRows("CSV", numbered(), line, url_encoded=is_of_s3)


def _arrow_csv(
    file: str, compression: str, width: int, wanted: Sequence[str], separator: str, skip: int
) -> Iterator[_Batch]:
    names = [f"c{place}" for place in range(width)]
    whole = message("a row of {columns:count} columns", columns=width)
    wrong: list[Any] = []
    read, blank = skip, 0

    def judge(invalid: Any) -> str:
        wrong.append(invalid)
        return "error"

    with fsspec.open(local_path(file), "rb", compression=compression) as stream:
        counted = _Counted(stream)
        try:
            for batch in csv.open_csv(
                pa.PythonFile(counted, "r"),
                csv.ReadOptions(
                    column_names=names, skip_rows=skip, block_size=_BLOCK_BYTES, use_threads=False
                ),
                csv.ParseOptions(
                    delimiter=separator,
                    quote_char='"' if width > 1 else False,
                    ignore_empty_lines=False,
                    invalid_row_handler=judge,
                ),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.binary()),
                    include_columns=list(wanted),
                    strings_can_be_null=False,
                ),
            ):
                kept = len(batch) - (_blank_at_end(batch) if width > 1 else 0)
                if blank and kept:
                    raise unreadable(file, line(blank), whole, "")
                yield pa.array(np.arange(read + 1, read + 1 + kept)), batch.slice(0, kept)
                read += len(batch)
                blank = blank or (read if kept < len(batch) else 0)
        except pa.ArrowInvalid:
            if not wrong:
                raise
            raise unreadable(file, line(wrong[0].number), whole, wrong[0].text) from None
    if counted.lines != read:
        # A quote that is never closed hides the rows after it.
        raise Refused(
            message(
                "{file:name} has {lines:count} lines, and {rows:count} rows: a quoted value has a "
                "line break, or its quote is never closed. Nothing of the inventory was taken.",
                file=file,
                lines=counted.lines,
                rows=read,
            )
        )


def _blank_at_end(batch: pa.RecordBatch) -> int:
    rows = range(len(batch) - 1, -1, -1)
    empty = (all(column[row].as_py() == b"" for column in batch.columns) for row in rows)
    return sum(1 for _ in takewhile(bool, empty))


class _Counted(io.RawIOBase):
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._ended_lines, self._is_within = stream, 0, False

    @property
    def lines(self) -> int:
        return self._ended_lines + self._is_within

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        if block:
            self._ended_lines += block.count(b"\n")
            self._is_within = not block.endswith(b"\n")
        return block

    def readable(self) -> bool:
        return True


def _lines(file: str, compression: str, printed: _Printed) -> InventoryRows:
    def numbered() -> Iterator[_Batch]:
        totals, rows, directories = [], 0, 0
        for numbers, batch in _arrow_csv(file, compression, 1, ["c0"], "\x01", 0):
            text = as_text(batch.column(0), partial(_line_of, file, numbers))
            text = pc.ascii_rtrim(text, "\r")
            found = pc.extract_regex(text, printed.row)
            is_row = pc.is_valid(found)
            others = pc.invert(is_row)
            for number, other in zip(
                numbers.filter(others).to_pylist(), text.filter(others).to_pylist(), strict=True
            ):
                if printed.total is not None and (total := printed.total.fullmatch(other)):
                    totals.append(int(total[1]))
                elif other.strip() and not printed.between.fullmatch(other):
                    expected = message("a line of {tool:text}", tool=printed.by)
                    raise unreadable(file, line(number), expected, other)
            found = found.filter(is_row)
            yield numbers.filter(is_row), pa.RecordBatch.from_struct_array(found)
            rows += len(found)
            directories += pc.sum(pc.ends_with(text.filter(is_row), "/")).as_py() or 0
        # Placeholders of directories need not be among the objects that are counted.
        if (printed.ends_with_total and not totals) or not (
            not totals or rows - directories <= sum(totals) <= rows
        ):
            raise Refused(
                message(
                    "{file:name} was cut off: its files are {rows:count}, and its total is "
                    "{total:text}. Print it again with {tool:text}.",
                    file=file,
                    rows=rows,
                    total=str(sum(totals)) if totals else message("not there"),
                    tool=printed.by,
                )
            )

    return InventoryRows("text", numbered(), line)


def _printed_by(text: str) -> _Printed | None:
    first = next((each for each in text.splitlines() if each.strip()), "")
    if _NOT_RECURSIVE.fullmatch(first):
        return PRINTED[0]
    return next(
        (
            printed
            for printed in PRINTED
            if re.match(printed.row, first) or printed.between.fullmatch(first)
        ),
        None,
    )


def as_text(column: pa.Array, where: Callable[[int], tuple[str, Message]]) -> pa.Array:
    """``where``: file and place of a row. Raises ``Refused`` for one that is not UTF-8."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        for at, value in enumerate(column.to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                raise unreadable(*where(at), message("text in UTF-8"), value) from None
        raise


def _header(first: str, delimiter: str | None) -> tuple[list[str] | None, str]:
    """The names in a first line, ``None`` if they are none, and what separates columns."""
    if match := _IMAGE_HEADER.match(first):
        return first.split(match[1]), match[1]
    for separator in (delimiter,) if delimiter else _SEPARATORS:
        names = _fields(first, separator)[0] if first else []
        known = {letters(name) for name in names}
        if known & {*MEANINGS["path"], *MEANINGS["key"], *MEANINGS["name"]} and not any(
            name[:1].isdigit() for name in names
        ):
            return names, separator
    return None, delimiter or ("\t" if "\t" in first else ",")


def _fields(text: str, separator: str) -> list[list[str]]:
    try:
        reader = python_csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return [fields for _, fields in zip(range(_SAMPLE_ROWS), reader, strict=False)] or [[]]
    except (python_csv.Error, TypeError):
        return [[]]


def _guess(sample: Sequence[Sequence[str]], bucket: str) -> tuple[str, ...] | None:
    """Path, size and time of modification; or those of S3 Inventory: bucket, key, versions where
    they are listed, and then what was chosen.
    """
    width = len(sample[0])
    if any(len(fields) != width for fields in sample) or width < 2:
        return None
    columns = [[fields[place] for fields in sample if fields[place]] for place in range(width)]
    if width <= len(DEFAULT) and _all(_NUMBER, columns[1]) and not _all(_NUMBER, columns[0]):
        return DEFAULT[:width]
    if set(columns[0]) != {bucket}:
        return None
    names = ["bucket", "key", *[""] * (width - 2)]
    for meaning, pattern in (("bytes", _NUMBER), ("modified", _INSTANT)):
        places = [at for at in range(2, width) if _all(pattern, columns[at])]
        if len(places) > 1 or (meaning == "bytes" and not places):
            return None
        if places:
            names[places[0]] = meaning
    if width > 4 and not names[2] and _all(_FLAG, columns[3]) and _all(_FLAG, columns[4]):
        names[2:5] = ["versionid", "islatest", "isdeletemarker"]
    return tuple(names)


def _all(pattern: re.Pattern[str], values: Sequence[str]) -> bool:
    return bool(values) and all(pattern.fullmatch(value) for value in values)
