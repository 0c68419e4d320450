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
"""Meaning of a column → names of the column (see ``letters``), the preferred one first.
Sources: lists of fields of S3 Inventory, the inventories of OSS, COS and OBS, Storage Insights and
Azure's blob inventory; ``hdfs oiv``.
"""
_CHANGE_COLUMNS = {"recordtype", "recordtimestamp", "sequencenumber"}
_IMAGE = (
    *("path", "replication", "modified", "accessed", "preferredblocksize", "blockscount"),
    *("filesize", "nsquota", "dsquota", "permission", "user", "group"),
)
"""Columns of ``hdfs oiv -p Delimited`` of Hadoop 2.7, which writes no header."""
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
"""Longest text in Parquet; the longest paths have 8,000 characters (HDFS)."""


@dataclass(frozen=True, slots=True)
class _Tool:
    """Output of a tool. ``between`` matches other lines; ``total`` has the number of rows."""

    command: str
    row: str
    between: re.Pattern[str] = re.compile("")
    total: re.Pattern[str] | None = None
    ends_with_total: bool = False


PRINTED = (
    # Times of HDFS's and AWS's tools are in the caller's local time, without a zone.
    _Tool(
        "hdfs dfs -ls -R",
        r"^(?P<permission>[-d][-rwxsStT]{9}[+.]?) +(?P<replication>\d+|-) +\S+ +\S+ +"
        r"(?P<bytes>\d+) +(?P<modified>\d{4}-\d\d-\d\d \d\d:\d\d) (?P<path>.+)$",
    ),
    _Tool(
        "aws s3 ls --recursive",
        r"^(?P<modified>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) +(?P<bytes>\d+) (?P<key>.+)$",
        re.compile(r"Total Objects: \d+|\s+Total Size: \d+"),
        re.compile(r"Total Objects: (\d+)"),
    ),
    _Tool(
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
    """``place``: number of a row → its place in words. ``url_encoded``: keys are URL-encoded, as in
    CSV of S3 Inventory. ``kind``: the same for all files of an inventory.
    """

    kind: str
    batches: Iterator[_Batch]
    place: Callable[[int], Message]
    url_encoded: bool = False


def unreadable(file: str, place: Message, expected: Message, value: object) -> Refused:
    return Refused(
        message(
            "{file:name}, {place:message}: {expected:message} is expected, not {found:text}. "
            "Nothing of the inventory was taken.",
            file=file,
            place=place,
            expected=expected,
            found=repr(value)[:200],
        )
    )


def line(number: int) -> Message:
    return message("line {line:count}", line=number)


def _line_of(file: str, numbers: pa.Array, at: int) -> tuple[str, Message]:
    return file, line(numbers[at].as_py())


def row(number: int) -> Message:
    return message("row {row:count}", row=number)


def read_rows(
    file: str, columns: Sequence[str] | None, *, delimiter: str | None = None, bucket: str = ""
) -> InventoryRows:
    """``columns``: those of a file that has no header. ``bucket``: bucket of the root, by which CSV
    of S3 Inventory is recognised. Raises ``Refused`` and errors of the storage, also while batches
    are read.
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
    first_line = text.partition("\n")[0].rstrip("\r")
    if columns is not None:
        return _csv_rows(file, compression, columns, delimiter or ",", skip=0)
    if (tool := _tool_of(text)) is not None:
        return _printed_rows(file, compression, tool)
    if _IMAGE_ROW.fullmatch(first_line):
        return _csv_rows(file, compression, _IMAGE, "\t", skip=0)
    header, separator = _header(first_line, delimiter)
    if header is not None:
        return _csv_rows(file, compression, header, separator, skip=1)
    complete_lines = text if len(sample) < _SAMPLE_BYTES else text[: text.rfind("\n") + 1]
    guess = _guess(_fields(complete_lines, separator), bucket)
    if guess is None:
        raise Refused(
            message(
                "{file:name} has no header, so it is not certain what each column holds. Name its "
                "manifest, or write the names of its columns into a first line, such as "
                "bucket,key,size,last_modified_date. Weir reads inventories of S3, Google, Azure "
                "and hdfs oiv (CSV, Parquet, ORC), and what {tools:names} print.",
                file=file,
                tools=[tool.command for tool in PRINTED],
            )
        )
    return _csv_rows(file, compression, guess, separator, skip=0)


def _by_meaning(file: str, names: Sequence[str]) -> dict[str, int]:
    keys = [letters(name) for name in names]
    places = {
        meaning: keys.index(next(name for name in spellings if name in keys))
        for meaning, spellings in MEANINGS.items()
        if set(spellings) & set(keys)
    }
    if _CHANGE_COLUMNS & set(keys):
        raise Refused(
            message(
                "{file:name} lists changes, not all files that are there; name a full inventory.",
                file=file,
            )
        )
    for needed in (("path", "key", "name"), ("bytes",)):
        if not places.keys() & set(needed):
            raise Refused(
                message(
                    "{file:name} has no column for the {meaning:text} among {names:text}; it is "
                    "needed of each file.",
                    file=file,
                    meaning=message("path") if "path" in needed else message("size"),
                    names=", ".join(names),
                )
            )
    return places


def _parquet(file: str, columns: Sequence[str] | None) -> InventoryRows:
    schema = ParquetStream(fsspec.open(local_path(file), "rb").open()).schema_arrow
    places = _by_meaning(file, columns or schema.names)
    column_names = [schema.names[place] for place in places.values()]
    texts = [name for name in column_names if pa.types.is_string(schema.field(name).type)]
    parquet = ParquetStream(fsspec.open(local_path(file), "rb").open(), encoded=texts)
    batches = _decode(file, parquet.iter_batches(_ROWS_A_BATCH, columns=column_names))
    return InventoryRows("Parquet", _number(batches, column_names, list(places)), row)


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
    orc_file = orc.ORCFile(fsspec.open(local_path(file), "rb").open())
    names = orc_file.schema.names
    places = _by_meaning(file, columns or names)
    column_names = [names[place] for place in places.values()]
    stripes = (orc_file.read_stripe(stripe, column_names) for stripe in range(orc_file.nstripes))
    batches = (
        stripe.slice(first, _ROWS_A_BATCH)
        for stripe in stripes
        for first in range(0, len(stripe), _ROWS_A_BATCH)
    )
    return InventoryRows("ORC", _number(batches, column_names, list(places)), row)


def _number(
    batches: Iterator[pa.RecordBatch], names: Sequence[str], meanings: Sequence[str]
) -> Iterator[_Batch]:
    next_number = 1
    for batch in batches:
        columns = [batch.column(name) for name in names]
        numbers = pa.array(np.arange(next_number, next_number + len(batch)))
        yield numbers, pa.record_batch(columns, names=meanings)
        next_number += len(batch)


def _csv_rows(
    file: str, compression: str, names: Sequence[str], separator: str, *, skip: int
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
    places = _by_meaning(file, names)
    meaning_of = {f"c{place}": meaning for meaning, place in places.items()}

    def read_batches() -> Iterator[_Batch]:
        for numbers, batch in _arrow_csv(
            file, compression, len(names), list(meaning_of), separator, skip
        ):
            yield numbers, batch.rename_columns([meaning_of[name] for name in batch.schema.names])

    is_of_s3 = {"bucket", "key"} <= places.keys()
    return InventoryRows("CSV", read_batches(), line, url_encoded=is_of_s3)


def _arrow_csv(
    file: str, compression: str, width: int, column_names: Sequence[str], separator: str, skip: int
) -> Iterator[_Batch]:
    names = [f"c{place}" for place in range(width)]
    expected = message("a row of {columns:count} columns", columns=width)
    invalid_rows: list[Any] = []
    count, blank = skip, 0

    def note_invalid(invalid: Any) -> str:
        invalid_rows.append(invalid)
        return "error"

    with fsspec.open(local_path(file), "rb", compression=compression) as stream:
        counted = _LineCounter(stream)
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
                    invalid_row_handler=note_invalid,
                ),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.binary()),
                    include_columns=list(column_names),
                    strings_can_be_null=False,
                ),
            ):
                filled = len(batch) - (_blank_at_end(batch) if width > 1 else 0)
                if blank and filled:
                    raise unreadable(file, line(blank), expected, "")
                yield (pa.array(np.arange(count + 1, count + 1 + filled)), batch.slice(0, filled))
                count += len(batch)
                blank = blank or (count if filled < len(batch) else 0)
        except pa.ArrowInvalid:
            if not invalid_rows:
                raise
            raise unreadable(
                file, line(invalid_rows[0].number), expected, invalid_rows[0].text
            ) from None
    if counted.lines != count:
        # A quote that is not closed hides the following rows.
        raise Refused(
            message(
                "{file:name} has {lines:count} lines, and {rows:count} rows: a quoted value has a "
                "line break, or its quote is never closed. Nothing of the inventory was taken.",
                file=file,
                lines=counted.lines,
                rows=count,
            )
        )


def _blank_at_end(batch: pa.RecordBatch) -> int:
    rows = range(len(batch) - 1, -1, -1)
    empty = (all(column[row].as_py() == b"" for column in batch.columns) for row in rows)
    return sum(1 for _ in takewhile(bool, empty))


class _LineCounter(io.RawIOBase):
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


def _printed_rows(file: str, compression: str, tool: _Tool) -> InventoryRows:
    def read_batches() -> Iterator[_Batch]:
        totals, rows, directories = [], 0, 0
        for numbers, batch in _arrow_csv(file, compression, 1, ["c0"], "\x01", 0):
            text = as_text(batch.column(0), partial(_line_of, file, numbers))
            text = pc.ascii_rtrim(text, "\r")
            fields = pc.extract_regex(text, tool.row)
            is_row = pc.is_valid(fields)
            is_other = pc.invert(is_row)
            for number, other_line in zip(
                numbers.filter(is_other).to_pylist(), text.filter(is_other).to_pylist(), strict=True
            ):
                if tool.total is not None and (total := tool.total.fullmatch(other_line)):
                    totals.append(int(total[1]))
                elif other_line.strip() and not tool.between.fullmatch(other_line):
                    expected = message("a line of {tool:text}", tool=tool.command)
                    raise unreadable(file, line(number), expected, other_line)
            fields = fields.filter(is_row)
            yield numbers.filter(is_row), pa.RecordBatch.from_struct_array(fields)
            rows += len(fields)
            directories += pc.sum(pc.ends_with(text.filter(is_row), "/")).as_py() or 0
        # The total may be without placeholders of directories.
        if (tool.ends_with_total and not totals) or not (
            not totals or rows - directories <= sum(totals) <= rows
        ):
            raise Refused(
                message(
                    "{file:name} was cut off: its files are {rows:count}, and its total is "
                    "{total:text}. Print it again with {tool:text}.",
                    file=file,
                    rows=rows,
                    total=str(sum(totals)) if totals else message("not there"),
                    tool=tool.command,
                )
            )

    return InventoryRows("text", read_batches(), line)


def _tool_of(text: str) -> _Tool | None:
    first_line = next((line_text for line_text in text.splitlines() if line_text.strip()), "")
    if _NOT_RECURSIVE.fullmatch(first_line):
        return PRINTED[0]
    return next(
        (
            tool
            for tool in PRINTED
            if re.match(tool.row, first_line) or tool.between.fullmatch(first_line)
        ),
        None,
    )


def as_text(column: pa.Array, place_of: Callable[[int], tuple[str, Message]]) -> pa.Array:
    """``place_of``: row → file, and place in words. Raises ``Refused`` if bytes are not UTF-8."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        for at, value in enumerate(column.to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                raise unreadable(*place_of(at), message("text in UTF-8"), value) from None
        raise


def _header(first_line: str, delimiter: str | None) -> tuple[list[str] | None, str]:
    if match := _IMAGE_HEADER.match(first_line):
        return first_line.split(match[1]), match[1]
    for separator in (delimiter,) if delimiter else _SEPARATORS:
        names = _fields(first_line, separator)[0] if first_line else []
        keys = {letters(name) for name in names}
        if keys & {*MEANINGS["path"], *MEANINGS["key"], *MEANINGS["name"]} and not any(
            name[:1].isdigit() for name in names
        ):
            return names, separator
    return None, delimiter or ("\t" if "\t" in first_line else ",")


def _fields(text: str, separator: str) -> list[list[str]]:
    try:
        reader = python_csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return [fields for _, fields in zip(range(_SAMPLE_ROWS), reader, strict=False)] or [[]]
    except (python_csv.Error, TypeError):
        return [[]]


def _guess(sample: Sequence[Sequence[str]], bucket: str) -> tuple[str, ...] | None:
    """Columns of a file without header: path, size and time of modification; or those of S3
    Inventory: bucket, key, perhaps versions, then chosen columns. None if it is something else.
    """
    width = len(sample[0])
    if any(len(fields) != width for fields in sample) or width < 2:
        return None
    columns = [[fields[place] for fields in sample if fields[place]] for place in range(width)]
    if (
        width <= len(DEFAULT)
        and _all_match(_NUMBER, columns[1])
        and not _all_match(_NUMBER, columns[0])
    ):
        return DEFAULT[:width]
    if set(columns[0]) != {bucket}:
        return None
    names = ["bucket", "key", *[""] * (width - 2)]
    for meaning, pattern in (("bytes", _NUMBER), ("modified", _INSTANT)):
        places = [at for at in range(2, width) if _all_match(pattern, columns[at])]
        if len(places) > 1 or (meaning == "bytes" and not places):
            return None
        if places:
            names[places[0]] = meaning
    if (
        width > 4
        and not names[2]
        and _all_match(_FLAG, columns[3])
        and _all_match(_FLAG, columns[4])
    ):
        names[2:5] = ["versionid", "islatest", "isdeletemarker"]
    return tuple(names)


def _all_match(pattern: re.Pattern[str], values: Sequence[str]) -> bool:
    return bool(values) and all(pattern.fullmatch(value) for value in values)
