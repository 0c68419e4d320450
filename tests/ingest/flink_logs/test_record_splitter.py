"""Bytes to records: folding, cutting, junk, and the same records however the bytes are cut into
pieces.
"""

import tracemalloc
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import Refused
from ingest.flink_logs.cursors import FileCursor
from ingest.flink_logs.layouts import FLINK, layout_of, zone_of
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.names import age_order, is_rotated, process_of
from ingest.flink_logs.record_splitter import MAX_RECORD_BYTES
from ingest.records import LogRecord
from tests.ingest.flink_logs.log_records import records_of

HEADER = b"2026-11-21 04:00:00,001 WARN  a.b.C    [] - "


def splitter(begin: FileCursor | None = None) -> LogReader:
    return LogReader(FLINK, zone_of("UTC"), file="jm.log", begin=begin)


def messages(data: bytes) -> list[str]:
    return [record.message for record in records_of(data, file="jm.log")]


def test_a_stack_trace_belongs_to_its_record() -> None:
    assert messages(
        HEADER + (b"one\njava.io.IOException: x\n\tat a.B\n20 more\n") + HEADER + b"two\n"
    ) == [
        "one\njava.io.IOException: x\n\tat a.B\n20 more",
        "two",
    ]


def test_all_default_layouts_are_read() -> None:
    lines = (
        b"2026-11-21 04:00:00,001 WARN  a.B    - 1.9\n2026-11-21 04:00:00,001 WARN  a.B [] - 1.11\n"
    )
    lines += b"2026-11-21 04:00:00,001 WARN  a.B [flink-job-id=1] - with MDC\n"
    assert messages(lines) == ["1.9", "1.11", "with MDC"]


def test_the_header_is_read_in_the_declared_zone() -> None:
    record = records_of(HEADER + b"x\n", file="jm.log", time_zone="Asia/Shanghai")[0]
    assert record.ts == datetime(2026, 11, 20, 20, 0, 0, 1000, tzinfo=UTC)
    assert (record.level, record.logger) == ("WARN", "a.b.C")


def test_equal_records_of_one_file_are_counted() -> None:
    records = records_of(HEADER + b"same\n" + HEADER + b"same\n", file="jm.log")
    assert [record.ordinal for record in records] == [0, 1]
    assert records[0].record_hash == records[1].record_hash


def test_routine_lines_are_left_out_unless_all_is_asked_for() -> None:
    line = b"2026-11-21 04:00:00,001 INFO  a.B [] - Served something.\n"
    assert records_of(line, file="jm.log") == []
    assert len(records_of(line, file="jm.log", keep="all")) == 1


def test_what_comes_before_the_first_header_is_dropped() -> None:
    assert messages(b"\tat torn.Trace\n2026 is no header\n" + HEADER + b"first\n") == ["first"]


def test_a_hole_at_the_start_of_a_file_is_skipped() -> None:
    assert messages(b"\0" * 3_000_000 + HEADER + b"first\n") == ["first"]


def test_junk_becomes_replacement_characters() -> None:
    assert messages(HEADER + b"a\xff\x00b\r\n\tat x\r\n") == ["a\ufffd\ufffdb\n\tat x"]


def test_a_long_record_is_cut_and_reported_without_being_held() -> None:
    reader = splitter()
    tracemalloc.start()
    records: list[LogRecord] = reader.feed(HEADER)
    for _ in range(100):
        records += reader.feed(b"x" * 1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    records += reader.feed(b"\n" + HEADER + b"next\n")
    records += reader.close()
    assert len(records[0].message) == MAX_RECORD_BYTES - len(HEADER)
    assert records[1].message == "next"
    assert [skip.reason for skip in reader.skips] == ["long_line"]
    assert peak < 8_000_000


LINE = st.sampled_from(
    [
        HEADER + b"same",
        HEADER + b"x" * 300,
        b"\tat a.B",
        b"20 more",
        b"2026",
        b"",
        b"\xff\x00",
        HEADER + b"\r",
        b"2026-11-21 04:00:00,001 WARN ",
    ]
)


@given(st.lists(LINE, max_size=12), st.lists(st.integers(1, 60), max_size=40))
def test_the_size_of_the_pieces_read_changes_nothing(lines: list[bytes], cuts: list[int]) -> None:
    data = b"\n".join(lines)
    reader = splitter()
    records, at = [], 0
    for size in cuts:
        records += reader.feed(data[at : at + size])
        at += size
    records += reader.feed(data[at:])
    assert records + reader.close() == records_of(data, file="jm.log")


@given(st.lists(LINE, max_size=12), st.integers(0, 400))
def test_reading_on_where_a_reader_stopped_gives_the_rest(lines: list[bytes], at: int) -> None:
    data = b"\n".join(lines)
    first = splitter()
    records = first.feed(data[:at])
    second = splitter(FileCursor("jm.log", **first.resumption()))
    records += second.feed(data[first.resume_offset :])
    assert records + second.close() == records_of(data, file="jm.log")


@pytest.mark.parametrize(
    "pattern",
    [
        "%p %m%n",
        "%d{HH:mm:ss} %m%n",
        "%d{yyyy-MM-dd HH:mm:ss}",
        "%d %foo %m",
        "%d{dd MMM yyyy HH:mm:ss} %m",
    ],
)
def test_a_layout_without_date_or_message_is_refused_in_one_sentence(pattern: str) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        layout_of(pattern)


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(Refused, match="Mars"):
        zone_of("Mars/Olympus")


@pytest.mark.parametrize(
    "name",
    [
        "jm.log",
        "jm.log.1",
        "jm.log.3.gz",
        "jm.log-20261121",
        "jm.log.2026-11-21.gz",
        "jm-2026-11-21.log",
        "jm-2026-11-21-1.log.gz",
        "jm.log.2026-11-21-04.1",
    ],
)
def test_rotation_and_packing_do_not_change_the_process(name: str) -> None:
    assert process_of(f"/logs/{name}") == "jm.log"
    assert is_rotated(f"/logs/{name}") == (name != "jm.log")


@pytest.mark.parametrize(
    "name",
    [
        "flink-taskexecutor-0-host.example.com.log",
        "tm.10.0.0.5",
        "flink-jm-1.log",
        "taskmanager.out",
    ],
)
def test_hosts_and_numbers_in_a_name_are_part_of_it(name: str) -> None:
    assert process_of(name) == name


@pytest.mark.parametrize(
    ("path", "process"),
    [
        (
            "/var/log/pods/flink_orders-6d8_0a1b-2c/flink-main-container/0.log",
            "orders-6d8/flink-main-container",
        ),
        (
            "/var/log/pods/flink_orders-6d8_0a1b-2c/flink-main-container/1.log.20241203-021806.gz",
            "orders-6d8/flink-main-container",
        ),
        (
            f"/var/log/containers/orders-6d8_flink_flink-main-container-{'0a' * 32}.log",
            "orders-6d8/flink-main-container",
        ),
        (f"/var/lib/docker/containers/{'0a' * 32}/{'0a' * 32}-json.log", "0a0a0a0a0a0a"),
        (
            "/logs/application_1_2/container_e24_1566_8088_04_013155/taskmanager.log.1",
            "container_e24_1566_8088_04_013155/taskmanager.log",
        ),
    ],
)
def test_pods_and_containers_are_told_apart_by_their_folders(path: str, process: str) -> None:
    assert process_of(path) == process
    assert is_rotated(path) == path.endswith((".gz", ".1"))


def test_files_of_a_process_are_read_oldest_first() -> None:
    names = ["jm.log", "jm.log.1", "jm.log.10.gz", "jm.log.2"]
    assert sorted(names, key=age_order) == ["jm.log.10.gz", "jm.log.2", "jm.log.1", "jm.log"]
