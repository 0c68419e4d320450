"""Whoever can make a job log something forges lines: to break the parser, to keep it busy for ever,
to tell of what never was.

Every example of the pattern table is changed in many ways and read, in one piece and as a file that
grows; Spark reads the same of it.
"""

import time
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from ingest.flink_logs.event_parser import DETAIL_CHARS, MESSAGE_CHARS
from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.patterns import KINDS, PATTERNS, READ_CHARS
from ingest.flink_logs.tail import read_new
from ingest.lake.store import Lake
from ingest.records import LogRecord, Observed
from ingest.sources import LogSource
from tests.attacks.log_lines import CATASTROPHES, examples_of_the_table, hostile_lines
from tests.attacks.scale import examples
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of

AT = datetime(2026, 11, 21, tzinfo=UTC)
EACH = examples(30, 350)
FEWEST = 60
"""Examples of the table."""
LONGEST_NUMBER = 10**15
READ_AGAIN = 200_000
"""How far it is read on behind its end, in which nothing is: the last record is taken for whole
after some cycles.
"""
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def events_of(data: bytes) -> list[LogEvent]:
    return [event for event in map(event_of, records_of(data, file="jm.log", keep="all")) if event]


def out_of_range(event: LogEvent) -> list[str]:
    """What no honest line says."""
    wrong = []
    for field in fields(event):
        value = getattr(event, field.name)
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and not -1 <= value <= LONGEST_NUMBER
        ):
            wrong.append(f"{field.name}={value}")
        if isinstance(value, str) and (
            len(value) > (DETAIL_CHARS if field.name == "detail" else READ_CHARS) or "\x00" in value
        ):
            wrong.append(f"{field.name}: {len(value)} characters")
        if isinstance(value, datetime) and not (
            value.tzinfo
            and datetime(1, 1, 2, tzinfo=UTC) <= value <= datetime(9999, 12, 31, tzinfo=UTC)
        ):
            wrong.append(f"{field.name}={value}")
    return wrong + (
        []
        if event.kind in KINDS and len(event.message or "") <= MESSAGE_CHARS
        else ["kind or message"]
    )


def test_no_forged_line_breaks_the_parser_or_tells_of_the_impossible(tmp_path: Path) -> None:
    lines = list(hostile_lines(EACH))
    assert len(examples_of_the_table()) >= FEWEST and len(lines) >= FEWEST * EACH
    events = events_of(b"".join(lines))
    assert len(events) > len(lines) / 6
    assert not [(wrong, event) for event in events if (wrong := out_of_range(event))]
    lake = Lake(str(tmp_path / "lake"))
    lake.append(
        [
            Observed(
                "c",
                AT,
                "log",
                tuple(records_of(b"".join(lines[:: examples(10, 3)]), file="jm.log", keep="all")),
            )
        ]
    )


def test_an_honest_line_is_read_as_ever_behind_a_forged_one() -> None:
    honest = b"2026-11-21 05:00:00,001 INFO  a.b.C [] - " + examples_of_the_table()[0] + b"\n"
    (told,) = events_of(honest)
    for line in list(hostile_lines(EACH, "before"))[:: examples(5, 1)]:
        found = events_of(line + honest)[-1]
        assert replace(found, offset=told.offset) == told, line


def test_a_forged_file_that_grows_is_read_as_one_that_is_there(tmp_path: Path) -> None:
    """Torn anywhere, also within a character or a header: each record is found.

    Equal ones far apart may count as one.
    """
    random, log = Random("tear"), tmp_path / "jm.log"
    data = b"".join(list(hostile_lines(EACH, "grows"))[:: examples(10, 2)])
    source, cursor, found, place = LogSource(globs=(str(log),)), None, set(), 0
    for _ in range(100_000):
        end = place + random.choice((1, 7, 100, 5_000, 60_000))
        with log.open("ab") as file:
            file.write(data[place:end])
        result = read_new(source, "c", cursor, AT)
        cursor = result.cursor
        found |= {
            _seen(record)
            for observed in result.observed
            for record in observed.records
            if isinstance(record, LogRecord)
        }
        if place >= len(data) + READ_AGAIN:
            break
        place = end
    assert found == {_seen(record) for record in records_of(data, file="jm.log")}


def _seen(record: LogRecord) -> tuple[datetime, str]:
    return record.ts, record.record_hash


@pytest.mark.parametrize("unit", CATASTROPHES)
def test_a_line_that_is_four_times_as_long_costs_no_more_than_that(unit: bytes) -> None:
    """By the ratio, on whatever machine: what is quadratic takes sixteen times as long."""
    openings = sorted({(pattern.starts or pattern.contains).encode() for pattern in PATTERNS})

    def cost(size: int) -> float:
        data = b"".join(
            b"2026-11-21 04:00:00,001 WARN a.b.C [] - "
            + opening
            + unit * (size // len(unit))
            + opening
            + b"\n"
            for opening in openings
        )
        costs = []
        for _ in range(3):
            before = time.process_time()
            events_of(data)
            costs.append(time.process_time() - before)
        return min(costs)

    short, long = cost(2_000), cost(8_000)
    assert long < 10 * short + 0.2
