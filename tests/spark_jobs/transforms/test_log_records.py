"""Pieces of text, block after block, give the records that reading the file gives, however batches and blocks are cut."""

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.flink_logs.files import records_of
from ingest.flink_logs.layouts import layout_of
from ingest.flink_logs.patterns import PATTERNS
from spark_jobs.transforms.log_records import file_name, record_batches

FILE = "file:///logs/jm.log"
LINES = st.sampled_from(
    [
        *(f"2026-11-21 04:00:00,001 INFO  a.B    [] - {pattern.example}" for pattern in PATTERNS[::9]),
        "2026-11-21 04:00:00,001 INFO  a.B    [] - Served something.",
        "2026-11-21 04:00:00,001 INFO  a.B    [] - Served - Triggering checkpoint something.",
        "2026-11-21 04:00:00,001 DEBUG a.B - Served something\n\tat a.b.C\n\tand task x switched from A to B",
        "2026-11-21 04:00:00,001 WARN  a.B [] - careful\nCaused by: java.io.IOException: x",
        "2026-02-28 04:00:00,001 INFO  a.B [] - a day\r",
        "2026-02-30 04:00:00,001 INFO  a.B [] - no such day",
        "2024-02-29 04:00:00,001 ERROR a.B [] - a day every four years",
        "2026-11-31 04:00:00,001 INFO  a.B [] - no such day",
        "2026-11-21 24:00:00,001 INFO  a.B [] - no such hour",
        "2026-11-21 04:00:00,001 INFO   - no logger",
        "2026-11-21 04:00:00,001 INFO a.B - - dashes",
        "2026-11-21 04:00:00,001 NOTE a.B - no such level",
        "2026-11-21 04:00:00,001 INFO  a.B [] -no end",
        "2026 is a line of a trace",
        "20",
        "",
        "\0\0",
    ]
)


def batches(pieces: list[bytes], cuts: list[int], block: int = 0) -> Iterator[pa.RecordBatch]:
    edges = sorted({0, *(cut for cut in cuts if cut < len(pieces)), len(pieces)})
    for begin, end in pairwise(edges):
        columns = {"value": pa.array(pieces[begin:end], pa.binary()), "file": [FILE] * (end - begin), "block": [block] * (end - begin)}
        yield pa.RecordBatch.from_pydict(columns)


def rows(pieces: Iterator[pa.RecordBatch], **options: object) -> list[dict[str, object]]:
    return [row for batch in record_batches(pieces, **options) for row in batch.to_pylist()]  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.lists(LINES, max_size=30), st.lists(st.integers(1, 30), max_size=4), st.sampled_from(["events", "all"]))
def test_batches_give_what_the_file_gives(lines: list[str], cuts: list[int], keep: str) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    # Spark takes a separator at the very end for the end of the last piece.
    read = rows(batches(data.split(b"\n20"), cuts), keep=keep)
    expected = records_of(data, file="/logs/jm.log", keep=keep)  # type: ignore[arg-type]
    names = ("process", "file", "ts", "level", "logger", "message", "record_hash", "ordinal")
    assert [tuple(row[name] for name in names) for row in read[:-1]] == [
        tuple(getattr(record, name) for name in names) for record in expected
    ]
    headers = len(records_of(data, file="/logs/jm.log", keep="all"))
    assert (read[-1]["record_hash"], read[-1]["headers"], read[-1]["stray"]) == (None, headers, False)


def test_a_block_that_begins_amid_a_record_says_so() -> None:
    pieces = [b"26 is a line of a trace", b"26-11-21 04:00:00,001 WARN  a.B [] - x"]
    (record, counts) = rows(batches(pieces, [], block=33554432))
    assert (record["message"], counts["headers"], counts["stray"]) == ("x", 1, True)


@pytest.mark.parametrize("layout", ["[%d{yyyy/MM/dd HH:mm:ss}] %p %m%n", "%p %d{yyyy-MM-dd HH:mm:ss} %m%n"])
def test_other_layouts_are_read_piece_by_piece(layout: str) -> None:
    line = "[2026/11/21 04:00:00] INFO " if layout.startswith("[") else "INFO 2026-11-21 04:00:00 "
    data = f"{line}Served\n{line}Triggering savepoint\n\tat a.b.C\n{line}Served".encode()
    found = layout_of(layout)
    read = rows(batches(data.split(f"\n{found.opening}".encode()), [1]), layout=found)
    assert [row["message"] for row in read] == [*(record.message for record in records_of(data, file="jm.log", layout=layout)), None]


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///logs/a%20b+c.log", "/logs/a b+c.log"),
        ("file:/logs/jm.log", "/logs/jm.log"),
        ("s3a://bucket/jm.log", "s3://bucket/jm.log"),
        ("hdfs://nn/jm.log", "hdfs://nn/jm.log"),
    ],
)
def test_files_are_named_as_elsewhere(uri: str, name: str) -> None:
    assert file_name(uri) == name
