"""Python and Spark read the same records and the same events out of the same bytes."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ingest.flink_logs.files import find, read_file
from ingest.flink_logs.layouts import FLINK, Layout, layout_of
from ingest.flink_logs.record_splitter import MAX_RECORD_BYTES
from spark_jobs.step_schemas import SERVED_EVENT
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, served_event_batches
from spark_jobs.transforms.log_blocks import BLOCK_BYTES
from spark_jobs.transforms.log_records import by_block, numbered
from spark_jobs.worker_rows import WorkerRows
from tests.attacks.log_lines import hostile_lines
from tests.attacks.scale import examples
from tests.ingest.flink_logs.example_lines import EXAMPLES, TRACE_EXAMPLES
from tests.ingest.flink_logs.row_events import event_of

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "recordings"
CC = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator"
Key = tuple[Any, ...]


def by_python(
    paths: list[Path], layout: str = "flink", zone: str = "UTC"
) -> tuple[dict[Key, Any], dict[Key, Any]]:
    records = [
        record
        for path in paths
        for batch, _ in read_file(str(path), layout=layout, time_zone=zone)
        for record in batch
    ]
    rows = {_key(record): (record.level, record.logger, record.message) for record in records}
    found = {_key(record): event_of(record) for record in records}
    events = {key: {**asdict(event), "offset": None} for key, event in found.items() if event}
    return rows, events


def by_spark(
    spark: SparkSession,
    paths: list[Path],
    layout: Layout = FLINK,
    zone: str = "UTC",
    block_bytes: int = BLOCK_BYTES,
) -> tuple[dict[Key, Any], dict[Key, Any]]:
    files, _ = find(map(str, paths))
    read = by_block(spark, files, layout, zone, block_bytes=block_bytes).frame()
    records = numbered(read.where("record_hash is not null"))
    kept = records.withColumns(
        {"cluster": F.lit("c"), "observed_at": F.lit(datetime(2026, 1, 1, tzinfo=UTC))}
    ).persist()
    rows = {_key(row): (row.level, row.logger, row.message) for row in _collected(kept)}
    events = {
        _key(row): row.asDict()
        for row in _collected(
            WorkerRows(
                kept.select(*RECORD_COLUMNS, "message"), served_event_batches, SERVED_EVENT
            ).frame()
        )
    }
    kept.unpersist()
    for event in events.values():
        for name in ("cluster", "observed_at", "fields", "served_reason"):
            del event[name]
        if event["trigger_time"]:
            event["trigger_time"] = event["trigger_time"].astimezone(UTC)
        event["ts"] = event["ts"].astimezone(UTC)
    return rows, events


def _key(row: Any) -> Key:
    return row.process, row.file, row.ts.astimezone(UTC), row.record_hash, row.ordinal


def _collected(frame: Any) -> list[Any]:
    return frame.collect()


def assert_same(
    spark: SparkSession,
    paths: list[Path],
    layout: str = "flink",
    zone: str = "UTC",
    block_bytes: int = BLOCK_BYTES,
) -> int:
    rows, events = by_python(paths, layout, zone)
    spark_rows, spark_events = by_spark(spark, paths, layout_of(layout), zone, block_bytes)
    assert spark_rows == rows
    assert spark_events == events
    return len(events)


@pytest.mark.parametrize("each", [5, pytest.param(1, marks=pytest.mark.long)])
def test_recorded_logs_give_the_same_events(spark: SparkSession, each: int) -> None:
    paths = sorted(RECORDINGS.glob("*/*/logs/*.log"))[::each]
    assert assert_same(spark, paths) > 10_000 / each**2


def test_every_example_of_the_table_gives_the_same_event(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = [
        f"2026-11-21 04:00:{number % 60:02d},001 INFO  {CC}    [] - {line}\n"
        for number, (_, line) in enumerate(EXAMPLES)
    ]
    lines += [
        f"2026-11-21 04:01:00,00{number} WARN  {CC}  - told\n{text}\n"
        for number, (_, text) in enumerate(TRACE_EXAMPLES)
    ]
    path = tmp_path / "jm.log"
    path.write_text("".join(lines))
    assert assert_same(spark, [path]) == len(EXAMPLES) + len(TRACE_EXAMPLES)


def test_traces_that_look_like_records_and_junk_give_the_same_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    header = f"2026-11-21 04:00:00,001 WARN  {CC}    [] - "
    pieces = [
        b"torn end of an older record\n2026 is a year\n",
        header.encode()
        + (
            b"one\n2026-11-21 is a day\n2026-11-21 04:00:00,001 not a header\njava.io.IOException: "
            b"x\n\tat a.b.C\n"
        ),
        header.encode() + b"same\n" + header.encode() + b"same\n",
        header.encode()
        + b"windows\r\n\tat line\r\n2026-11-21 04:00:00,002 WARN  a.B [] - next\r\n",
        header.encode() + b"not utf-8 \xff\xfe\xc3( \xe2\x82 \xf0\x9f\x98 \x00 nul\n",
        b"2026-13-41 04:00:00,001 WARN  a.B [] - no such day\n",
        header.encode()
        + b"x" * (MAX_RECORD_BYTES + 77)
        + b"\n"
        + header.encode()
        + b"after the long one\n",
        f"2026-11-21 04:00:00,003 NOTE  {CC} [] - unknown level\n".encode(),
        (
            b"2026-11-21 04:00:00,003 WARN   - no logger\n2026-11-21 04:00:00,003 WARN a.B - - "
            b"dashes "
            b"- all over\n"
        ),
        header.encode() + b"the end, torn",
    ]
    whole = tmp_path / "jm.log"
    whole.write_bytes(b"".join(pieces))
    holey = tmp_path / "tm.log.1"
    holey.write_bytes(b"\0" * 500_000 + b"".join(pieces[1:]))
    assert_same(spark, [whole, holey])


def test_blocks_that_begin_amid_a_record_give_the_same_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    header = f"2026-11-21 04:00:00,001 WARN  {CC}    [] - "
    path = tmp_path / "jm.log"
    path.write_text(
        "".join(
            f"{header}number {number % 7}\n" + "2026 is a line of the trace\n" * (number % 5)
            for number in range(60)
        )
    )
    assert_same(spark, [path], block_bytes=500)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Shanghai", "Australia/Lord_Howe"])
def test_local_times_mean_the_same_instant_over_clock_changes(
    spark: SparkSession, tmp_path: Path, zone: str
) -> None:
    days = ("2026-03-08", "2026-04-05", "2026-10-04", "2026-11-01")
    lines = [
        f"{day} {hour:02d}:{minute}:00,000 WARN  a.B [] - {day}"
        for day in days
        for hour in range(4)
        for minute in (10, 40)
    ]
    path = tmp_path / "jm.log"
    path.write_text("\n".join(lines) + "\n")
    assert_same(spark, [path], zone=zone)


@pytest.mark.parametrize(
    ("layout", "line"),
    [
        (
            "%d{ISO8601} [%t] %-5p %c{1} - %m%n",
            "2026-11-21T04:00:00,123 [main (1)] WARN  Foo - message",
        ),
        ("[%d{yyyy/MM/dd HH:mm:ss}] %p %m%n", "[2026/11/21 04:00:00] WARN message"),
        ("%-5p %d{dd.MM.yyyy HH:mm:ss.SSS} %c: %m%n", "WARN  21.11.2026 04:00:00.123 a.B: message"),
    ],
)
def test_declared_layouts_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, layout: str, line: str
) -> None:
    path = tmp_path / "jm.log"
    path.write_text(f"{line} 1\n\tat a.b.C\n{line} 2\n20 more\n{line} 3\n")
    rows, _ = by_python([path], layout)
    assert len(rows) == 3
    assert_same(spark, [path], layout)


NAME = st.text(
    st.characters(exclude_characters="\n\r\0", exclude_categories=("Cs",)), max_size=30
) | st.sampled_from(
    [
        "a (1/2)",
        "x switched from RUNNING to FAILED",
        "Decline checkpoint 5 by task",
        "(((",
        "$1 \\1",
        "it's - odd",
        "(2/4) (1/4)#3",
    ]
)
HEX = st.text("0123456789abcdef", min_size=32, max_size=32)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line of the table with its own names replaced by hostile ones, or anything at all."""
    _, text = draw(st.sampled_from(EXAMPLES))
    for known in ("Source: clicks", "enrich", "orders (eu)", "parse", "clicks"):
        text = text.replace(known, draw(NAME))
    text = text.replace("26eb676de8b3e133f9078fabe3704eb6", draw(HEX))
    level = draw(st.sampled_from(["INFO ", "WARN ", "DEBUG"]))
    noise = draw(
        st.sampled_from(
            [
                "",
                "",
                " ",
                "x",
                "\n\tat a.b.C(D.java:1)\nCaused by: java.io.IOException: y",
                "\n2026 things",
            ]
        )
    )
    return (
        f"2026-11-21 04:00:00,001 {level} {CC} [] - "
        f"{draw(st.sampled_from([text, draw(NAME)]))}{noise}\n"
    )


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.lists(lines(), min_size=30, max_size=80))
def test_hostile_names_give_the_same_events(
    spark: SparkSession, tmp_path: Path, written: list[str]
) -> None:
    path = tmp_path / "jm.log"
    path.write_bytes("".join(written).encode())
    assert_same(spark, [path])


def test_forged_lines_give_the_same_events(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "jm.log"
    path.write_bytes(b"".join(hostile_lines(examples(4, 40), "spark")))
    assert assert_same(spark, [path]) > 50
