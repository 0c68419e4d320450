"""Pieces of a log that are single records → columns of ``log_records``, in whole columns.
``ingest.flink_logs.record_splitter.RecordSplitter`` makes the same rows from any pieces, at four
times the cost.
"""

import re
from functools import cache
from hashlib import sha256
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.flink_logs.layouts import FLINK, Layout
from ingest.flink_logs.patterns import KEPT_LEVELS, contained, starts
from ingest.flink_logs.record_splitter import MAX_RECORD_BYTES
from spark_jobs.arrow_schemas import INSTANT

_DAY = "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
"""The days of all years: without 29 February."""
_HEADERS = {
    FLINK.name: f"^[0-9]{{2}}-{_DAY} (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9],[0-9]{{3}} "
    r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +[^ \n-][^ \n]* +(?:[^\n]* )?- "
}
"""Beginning of a piece whose header ends at its first " - "."""
_MINUTE_BYTES = len("26-11-21 04:00")
_DIGITS_AT = (15, 16, 18, 19, 20)
_DIGITS_WORTH_US = (10_000_000, 1_000_000, 100_000, 10_000, 1_000)
_TIME_BYTES = len("26-11-21 04:00:00,001 ")
_HEADER_END = b" - "
_TO_MESSAGE = r"(?:[^ \n]| +[^ \n-]| +-[^ \n])* +- "
"""Up to the first end of a header in the line."""
_REPLACED = (b"\0", b"\r")


Columns = tuple[pa.Array, pa.Array, pa.Array, pa.Array, list[str]]
"""Instants, levels, loggers, messages and hashes of records."""


def are_whole(pieces: pa.BinaryArray, layout: Layout) -> np.ndarray:
    """Whether a piece (``RecordSplitter._take``) is certainly one complete record."""
    header = _HEADERS.get(layout.name)
    flags = np.zeros(len(pieces), bool)
    if header and len(pieces) > 1:
        begins = matches(pieces, header)
        flags[:-1] = begins[:-1] & begins[1:]
    return flags


def are_kept(pieces: pa.BinaryArray) -> np.ndarray:
    """Whether the splitter keeps a record for ``events``: few of an archive. Checking each in
    Python would cost several times as much as reading.
    """
    return matches(pieces, _kept_pattern())


def columns_of(pieces: pa.BinaryArray, layout: Layout, zone: ZoneInfo) -> Columns | None:
    """Columns of whole ``pieces``; None if the splitter is needed."""
    count = len(pieces)
    _, offset_buffer, data = pieces.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[
        pieces.offset : pieces.offset + count + 1
    ].astype(np.int64)
    text = np.frombuffer(data, np.uint8)
    begins, ends = offsets[:-1], offsets[1:]
    all_bytes = memoryview(data)[offsets[0] : offsets[-1]].tobytes()
    is_long = (ends - begins).max() > MAX_RECORD_BYTES - len(layout.opening)
    has_replaced = any(byte in all_bytes for byte in _REPLACED)
    if is_long or has_replaced or (text[ends - 1] == ord("\n")).any():
        return None
    messages_begin = begins + pc.find_substring(pieces, _HEADER_END).to_numpy() + len(_HEADER_END)
    bounds = np.append(
        np.column_stack([begins, begins + _TIME_BYTES, messages_begin]).ravel(), ends[-1]
    ).astype(np.int32)
    parts = pa.BinaryArray.from_buffers(pa.binary(), 3 * count, [None, pa.py_buffer(bounds), data])
    level, logger = _names(parts.take(pa.array(np.arange(1, 3 * count, 3))), layout)
    try:
        messages = parts.take(pa.array(np.arange(2, 3 * count, 3))).cast(pa.string())
    except pa.ArrowInvalid:
        return None
    opening = layout.opening.encode()
    return (
        _instants(pieces, text, begins, layout, zone),
        level,
        logger,
        messages,
        [sha256(opening + piece).hexdigest()[:32] for piece in pieces.to_pylist()],
    )


def _instants(
    pieces: pa.BinaryArray, text: np.ndarray, begins: np.ndarray, layout: Layout, zone: ZoneInfo
) -> pa.Array:
    minutes = pc.binary_slice(pieces, 0, _MINUTE_BYTES).dictionary_encode()
    distinct = pa.array(
        [
            layout.instant(f"{minute.decode()}:00", zone)
            for minute in minutes.dictionary.to_pylist()
        ],
        INSTANT,
    )
    microseconds = sum(
        (text[begins + place].astype(np.int64) - ord("0")) * worth
        for place, worth in zip(_DIGITS_AT, _DIGITS_WORTH_US, strict=True)
    )
    return pc.add(distinct.cast(pa.int64()).take(minutes.indices), pa.array(microseconds)).cast(
        INSTANT
    )


def _names(headers: pa.BinaryArray, layout: Layout) -> tuple[pa.Array, pa.Array]:
    distinct = headers.dictionary_encode()
    match = re.compile(layout.header.encode()).match
    headers_read = [
        match(b"26-11-21 04:00:00,001 " + header) for header in distinct.dictionary.to_pylist()
    ]
    columns = (
        [
            header_match[layout.group(name)].decode("utf-8", "replace")
            for header_match in headers_read
            if header_match
        ]
        for name in ("level", "logger")
    )
    level, logger = (pa.array(column, pa.string()).take(distinct.indices) for column in columns)
    return level, logger


def matches(pieces: pa.BinaryArray, regex: str) -> np.ndarray:
    return np.asarray(pc.match_substring_regex(pieces, regex))


@cache
def _kept_pattern() -> str:
    return (
        f"^(?:[0-9: ,-]{{{_TIME_BYTES}}}(?:{any_of(KEPT_LEVELS)}) |{_TO_MESSAGE}"
        f"(?:{any_of(starts())}|[^\\n]*(?:{any_of(contained())})))"
    )


def any_of(pieces: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, pieces))
