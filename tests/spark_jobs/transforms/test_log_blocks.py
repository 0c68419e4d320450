"""Blocks of a file, each read alone, give the records that reading the file gives, wherever it is
cut.
"""

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from ingest.flink_logs.files import LogFile, find
from ingest.flink_logs.json_records import is_routine
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.patterns import KEPT_LEVELS, PATTERNS
from ingest.flink_logs.record_splitter import MAX_RECORD_BYTES
from spark_jobs.transforms import json_lines, log_blocks
from spark_jobs.transforms.log_blocks import LEARNED_BYTES, Block, record_batches, shares
from tests.attacks.scale import examples
from tests.ingest.flink_logs.example_lines import EXAMPLES
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.ingest.flink_logs.wrapped import ENVELOPES, JSON_LAYOUTS, mixed_logs
from tests.selections import mostly_long

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
HEADER = "2026-11-21 04:00:00,001 WARN  a.B [] - "
LINES = st.sampled_from(
    [
        *(f"2026-11-21 04:00:00,001 INFO  a.B    [] - {line}" for _, line in EXAMPLES[::9]),
        "2026-11-21 04:00:00,001 INFO  a.B    [] - Served something.",
        "2026-11-21 04:00:00,001 INFO  a.B    [] - Served - Triggering checkpoint something.",
        (
            "2026-11-21 04:00:00,001 DEBUG a.B - Served something\n\tat a.b.C\n\tand task x "
            "switched "
            "from A to B"
        ),
        f"{HEADER}careful\nCaused by: java.io.IOException: x",
        f"{HEADER}careful\n\n",
        f"{HEADER}windows\r\n\tat a.B\r",
        f"{HEADER}a \0 and no UTF-8: \udcff",
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
NAMES = ("process", "file", "ts", "level", "logger", "message", "record_hash")


ROUTINE = '{"timestamp": 1795233600002, "level": "INFO", "message": "Served"}'
LOUD = '{"timestamp": 1795233600001, "level": "WARN", "message": "careful\\n\\tat a.b.C"}'
OBJECTS = st.sampled_from(
    [
        *(
            f'{{"timestamp":{1795233600000 + n},"level":"INFO","message":"{line}"}}'
            for n, (pattern, (_, line)) in enumerate(zip(PATTERNS, EXAMPLES, strict=True))
            if pattern.contains
        ),
        (
            '{"timestamp": 1795233600001, "level": "INFO", "message": "Triggering savepoint for '
            "job "
            'x"}'
        ),
        (
            '{"timestamp": 1795233600001, "level": "INFO", "message":  "Triggering savepoint for '
            "job "
            'x"}'
        ),
        (
            '{"timestamp": 1795233600001, "level": "INFO", "message": "\\u0054riggering savepoint '
            "for "
            'job x"}'
        ),
        *[ROUTINE] * 3,
        LOUD,
        (
            '{"timestamp": 1795233600001, "level": "INFO", "message": "Served", "message": '
            '"Triggering '
            'savepoint"}'
        ),
        (
            '{"timestamp": 1795233600001, "level": "INFO", "msg": "Triggering savepoint for job '
            'x", '
            '"context": {"message": "x"}}'
        ),
        (
            '{"timestamp": 1795233600001, "severity": "error", "message": "Served", "labels": '
            '{"level": "INFO"}}'
        ),
        (
            '{"timestamp": 1795233600001, "level": 3, "message": "Served", "labels": {"level": '
            '"INFO"}}'
        ),
        (
            '{"timestamp": 1795233600001, "levelname": "Error", "message": "Served", "labels": '
            '{"level": "INFO"}}'
        ),
        (
            '{"timestamp": 1795233600001, "severity": "ERROR", "message": "Served", "labels": '
            '{"level": "INFO"}}'
        ),
        '{"timestamp": 1795233600001, "level": "INFO", "message": "Served \udcff"}',
        (
            '{"timestamp": 1795233600001, "level": "INFO", "message": "Served", "container_name": '
            '"jm-1"}'
        ),
        (
            '{"timestamp": 1795233600001, "level": "WARN", "message": "careful", "container_name": '
            '"jm-1"}'
        ),
        '{"timestamp": 1795233600001, "level": "WARN", "message": "cut',
        '{"a": 1}',
        "{",
    ]
)
NOT_OBJECTS = st.sampled_from(
    [
        f"{HEADER}careful",
        "\tat a.b.C",
        "",
        "2026-11-21T04:00:00.1Z stdout F text",
        (
            '{"message": "2026-11-21 04:00:00,001 WARN  a.B [] - wrapped", "stream": "stdout", '
            '"labels": {"level": "INFO"}}'
        ),
        (
            '{"log": "2026-11-21 04:00:00,001 WARN  a.B [] - wrapped\\n", "stream": "stdout", '
            '"time": '
            '"2026-11-21T04:00:00.1Z"}'
        ),
    ]
)


@contextmanager
def read_in_pieces(size: int) -> Iterator[None]:
    """Of so many bytes, and as many behind the end of a block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_blocks, "READ_BYTES", size)
        patch.setattr(log_blocks, "READ_ON_BYTES", size)
        yield


def rows_of(
    blocks: Iterable[Block], layout: str = "flink", keep: Any = "events"
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Records, and what is said of each block."""
    found = layout_of(layout)
    rows = [
        row
        for batch in record_batches(blocks, found, zone_of("UTC", found), keep)
        for row in batch.to_pylist()
    ]
    return [row for row in rows if row["record_hash"]], [
        row for row in rows if not row["record_hash"]
    ]


def told(rows: Iterable[Any]) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row[name] if isinstance(row, dict) else getattr(row, name) for name in NAMES)
        for row in rows
    )


def left_out(lines: list[bytes]) -> list[bytes]:
    return list(compress(lines, json_lines.are_routine(pa.array(lines, pa.binary()))))


def of_file(path: Path, block_bytes: int) -> list[Block]:
    (file,) = find([str(path)])[0]
    return [block for share in shares([file], block_bytes) for block in share]


@settings(
    deadline=None,
    max_examples=examples(100, 600),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(LINES, max_size=30),
    st.integers(1, 400) | st.just(10_000),
    st.integers(1, 300) | st.just(5_000),
    st.sampled_from(["events", "all"]),
)
def test_blocks_give_what_the_file_gives(
    tmp_path: Path, lines: list[str], block_bytes: int, read_bytes: int, keep: Any
) -> None:
    data = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    with read_in_pieces(read_bytes):
        records, counts = rows_of(of_file(path, block_bytes), keep=keep)
    expected = records_of(data, file=str(path), keep=keep)
    assert told(records) == told(expected)
    headers = len(records_of(data, file=str(path), keep="all"))
    assert (headers > 0) == (sum(row["headers"] for row in counts) > 0)
    if block_bytes > len(data):
        assert [row["ordinal"] for row in records] == [record.ordinal for record in expected]
        assert sum(row["headers"] for row in counts) == headers


@settings(
    deadline=None,
    max_examples=examples(20, 120),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.generate),
)
@given(mixed_logs(pieces=False), st.integers(50, 600), st.integers(20, 300))
def test_blocks_of_mixed_envelopes_and_layouts_give_what_the_file_gives(
    tmp_path: Path, data: bytes, block_bytes: int, read_bytes: int
) -> None:
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    with read_in_pieces(read_bytes):
        records, _ = rows_of(of_file(path, block_bytes))
    assert told(records) == told(records_of(data, file=str(path)))


@settings(
    deadline=None,
    max_examples=examples(100, 600),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(OBJECTS | OBJECTS | OBJECTS | NOT_OBJECTS, max_size=60),
    st.integers(50, 5_000),
    st.integers(20, 900),
    st.sampled_from(["events", "all"]),
)
@example([LOUD.ljust(199), f"{HEADER}careful", ROUTINE, "\tat a.b.C"], 5_000, 200, "events").via(
    "text between objects of one piece"
)
@example(
    [f"{HEADER}careful".ljust(len(ROUTINE)), ROUTINE, "\tat a.b.C"],
    5_000,
    len(ROUTINE) + 1,
    "events",
).via("text before a piece of objects")
def test_blocks_of_a_log_as_json_give_what_the_file_gives(
    tmp_path: Path, lines: list[str], block_bytes: int, read_bytes: int, keep: Any
) -> None:
    data = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    with read_in_pieces(read_bytes):
        records, counts = rows_of(of_file(path, block_bytes), keep=keep)
    assert told(records) == told(records_of(data, file=str(path), keep=keep))
    if block_bytes > len(data):
        assert sum(row["headers"] for row in counts) == len(
            records_of(data, file=str(path), keep="all")
        )
    split = data.split(b"\n")
    assert [line for line in left_out(split) if not is_routine(line)] == []


@given(st.lists(OBJECTS | NOT_OBJECTS, max_size=30))
def test_no_event_of_a_log_as_json_is_left_out_as_routine(lines: list[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    every = records_of(data, file="jm.log", keep="all")
    wanted = [record for record in every if record.level in KEPT_LEVELS or event_of(record)]
    assert told(wanted) <= told(records_of(data, file="jm.log"))


@pytest.mark.parametrize("name", JSON_LAYOUTS)
def test_routine_lines_of_a_recorded_log_as_json_are_counted_and_left_out_a_column_at_a_time(
    tmp_path: Path, name: str
) -> None:
    plain = (RECORDINGS / "1.20.5/B/logs/flink-standalonesession-0-flink-jm.log").read_bytes()
    data = JSON_LAYOUTS[name](plain)
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    with read_in_pieces(20_000):
        records, (count,) = rows_of(of_file(path, 10 * len(data)))
    assert told(records) == told(records_of(data, file=str(path)))
    assert count["headers"] == len(records_of(plain, file="jm.log", keep="all"))
    assert left_out(data.split(b"\n")) == list(filter(is_routine, data.split(b"\n")))


@pytest.mark.parametrize("name", ["cri", "docker json-file", "docker compose", "log4j2 JsonLayout"])
def test_a_recorded_log_in_an_envelope_is_read_in_blocks(tmp_path: Path, name: str) -> None:
    plain = (RECORDINGS / "1.20.5/B/logs/flink-standalonesession-0-flink-jm.log").read_bytes()
    data = {**ENVELOPES, **JSON_LAYOUTS}[name](plain)
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    records, _ = rows_of(of_file(path, 50_000))
    assert told(records) == told(records_of(data, file=str(path)))
    assert Counter(row["message"] for row in records) == Counter(
        record.message for record in records_of(plain, file="jm.log")
    )


@pytest.mark.parametrize("block_bytes", mostly_long([40_000, 5_000]))
def test_a_container_that_first_prints_behind_the_beginning_of_a_file_is_known_to_blocks_amid_its_traces(
    tmp_path: Path, block_bytes: int
) -> None:
    quiet = "".join(f"{HEADER}record {number}\n" for number in range(2_500))
    assert len(quiet) > LEARNED_BYTES
    traces = "".join(
        f"jm-{number % 3}  | {HEADER}{number} of a container\n"
        + "".join(
            f"{HEADER}{line} of the process\njm-{number % 3}  | \tat container.Line{line}\n"
            for line in range(60)
        )
        for number in range(30)
    )
    data = (quiet + traces).encode()
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    records, _ = rows_of(of_file(path, block_bytes))
    assert told(records) == told(records_of(data, file=str(path)))
    assert (
        sum(
            row["process"].startswith("jm-") and row["message"].endswith("container.Line59")
            for row in records
        )
        == 30
    )


@pytest.mark.parametrize("block_bytes", [1_000, 300_000, 5_000_000])
def test_records_and_holes_longer_than_a_block_are_of_the_block_they_begin_in(
    tmp_path: Path, block_bytes: int
) -> None:
    lines = (
        f"{HEADER}one",
        f"{HEADER}{'x' * (MAX_RECORD_BYTES + 500)}",
        f"{HEADER}two" + "\n2026 is a year\n" * 9_000,
        f"{HEADER}three",
    )
    data = b"\0" * 150_000 + "\n".join(lines).encode()
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    with read_in_pieces(70_000):
        records, _ = rows_of(of_file(path, block_bytes))
    assert told(records) == told(records_of(data, file=str(path)))


@pytest.mark.parametrize(
    "layout", ["[%d{yyyy/MM/dd HH:mm:ss}] %p %m%n", "%p %d{yyyy-MM-dd HH:mm:ss} %m%n"]
)
@pytest.mark.parametrize("block_bytes", [1, 7, 40, 1_000])
def test_other_layouts_are_read_in_blocks(tmp_path: Path, layout: str, block_bytes: int) -> None:
    line = "[2026/11/21 04:00:00] INFO " if layout.startswith("[") else "INFO 2026-11-21 04:00:00 "
    data = f"{line}Served\n{line}Triggering savepoint\n\tat a.b.C\n{line}Served".encode()
    path = tmp_path / "jm.log"
    path.write_bytes(data)
    records, _ = rows_of(of_file(path, block_bytes), layout, "all")
    assert told(records) == told(records_of(data, file=str(path), layout=layout, keep="all"))


def test_a_packed_file_is_one_block_and_a_torn_one_is_told(tmp_path: Path) -> None:
    data = "".join(f"{HEADER}number {number}\n" for number in range(20_000)).encode()
    whole, torn = tmp_path / "jm.log.1.gz", tmp_path / "jm.log.2.gz"
    whole.write_bytes(gzip.compress(data))
    torn.write_bytes(gzip.compress(data)[:-500])
    with read_in_pieces(10_000):
        records, (count,) = rows_of(of_file(whole, 1_000))
        _, (failed,) = rows_of(of_file(torn, 1_000))
    assert told(records) == told(records_of(data, file=str(whole)))
    assert (count["headers"], count["failure"]) == (20_000, None)
    assert "could not be read to its end" in failed["failure"]


def test_shares_are_of_about_equal_size() -> None:
    files = [
        LogFile("a.log", 25, ""),
        LogFile("b.log", 4, ""),
        LogFile("empty.log", 0, ""),
        LogFile("c.gz", 90, ""),
        LogFile("d.log", 1, ""),
    ]
    assert [[(block.path, block.begin) for block in share] for share in shares(files, 10)] == [
        [("a.log", 0)],
        [("a.log", 10)],
        [("a.log", 20), ("b.log", 0)],
        [("c.gz", 0)],
        [("d.log", 0)],
    ]
