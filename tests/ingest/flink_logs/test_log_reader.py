"""The same records whatever is around the lines and however they are laid out, in one piece or
many, and beside damage.
"""

import gzip
import json
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest.flink_logs.cursors import FileCursor
from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.layouts import FLINK, zone_of
from ingest.flink_logs.log_reader import MAX_LINE_BYTES, LogReader
from ingest.records import LogRecord
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.ingest.flink_logs.wrapped import (
    COMPLETED,
    ENVELOPES,
    FAILED,
    HEADER,
    JOB,
    JSON_LAYOUTS,
    TEXT_LAYOUTS,
    WITHOUT_DATE,
    WITHOUT_FRACTION,
    mixed_logs,
)

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
LAYOUTS = RECORDINGS.parent / "log_layouts" / "2.3.0"
JOBMANAGER = (RECORDINGS / "1.20.5/B/logs/flink-standalonesession-0-flink-jm.log").read_bytes()
TASKMANAGER = (RECORDINGS / "1.20.5/I/logs/flink-taskexecutor-1-flink-tm-2.log").read_bytes()


def reader(begin: FileCursor | None = None) -> LogReader:
    return LogReader(FLINK, zone_of("UTC"), file="x.log", begin=begin)


def events(data: bytes, file: str = "x.log") -> list[LogEvent]:
    return [event for event in map(event_of, records_of(data, file=file)) if event]


def told(found: list[LogEvent], seconds: bool = False) -> list[Any]:
    """All that an event says, but not which bytes say so."""
    names = [
        name
        for name in LogEvent.__dataclass_fields__
        if name not in ("process", "record_hash", "ordinal", "file", "offset", "ts")
    ]
    return [
        (
            event.ts.replace(microsecond=0) if seconds else event.ts,
            *(getattr(event, name) for name in names),
        )
        for event in found
    ]


@pytest.fixture(scope="module", params=["jobmanager", "taskmanager"])
def recorded(request: pytest.FixtureRequest) -> bytes:
    log = JOBMANAGER if request.param == "jobmanager" else TASKMANAGER
    assert any(event.detail for event in events(log))
    return log


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_recorded_log_tells_the_same_in_any_envelope(recorded: bytes, name: str) -> None:
    assert told(events(ENVELOPES[name](recorded))) == told(events(recorded))


@pytest.mark.parametrize("name", [*TEXT_LAYOUTS, *JSON_LAYOUTS])
def test_a_recorded_log_tells_the_same_in_any_layout(recorded: bytes, name: str) -> None:
    assert told(events({**TEXT_LAYOUTS, **JSON_LAYOUTS}[name](recorded))) == told(events(recorded))


@pytest.mark.parametrize("process", ["standalonesession-0-flink-jm", "taskexecutor-0-flink-tm-1"])
@pytest.mark.parametrize("layout", ["ecs", "gelf", "logstash", "jsonlayout", "iso", "clock"])
def test_layouts_that_a_real_flink_wrote_tell_what_its_own_layout_tells(
    process: str, layout: str
) -> None:
    plain, other = (
        gzip.decompress((LAYOUTS / f"{process}.{name}.gz").read_bytes())
        for name in ("plain", layout)
    )
    expected, found = events(plain), events(other, "x-2026-11-23.log")
    assert len(expected) > 50 and any(event.detail for event in expected)
    if layout == "jsonlayout":
        # Its stack traces say nothing of jars and modules.
        expected, found = (
            [replace(one, detail=(one.detail or "").partition("\n")[0]) for one in of]
            for of in (expected, found)
        )
    assert sorted(map(str, told(found))) == sorted(map(str, told(expected)))


@pytest.mark.parametrize("name", WITHOUT_FRACTION)
def test_a_layout_without_milliseconds_tells_the_same_to_the_second(
    recorded: bytes, name: str
) -> None:
    assert told(events(WITHOUT_FRACTION[name](recorded))) == told(events(recorded), seconds=True)


@pytest.mark.parametrize(
    "envelope",
    ["cri", "cri in pieces", "docker json-file", "docker compose with time stamps", "journald"],
)
@pytest.mark.parametrize(
    "layout", ["logback", "iso with zone", "log4j2 JsonLayout", "JsonTemplateLayout (ECS)"]
)
def test_layouts_are_read_in_envelopes(layout: str, envelope: str) -> None:
    log = JOBMANAGER[:60_000]
    assert told(events(ENVELOPES[envelope]({**TEXT_LAYOUTS, **JSON_LAYOUTS}[layout](log)))) == told(
        events(log)
    )


def test_times_without_a_date_are_of_the_day_in_the_name_of_the_file() -> None:
    log = WITHOUT_DATE["logback"](JOBMANAGER)
    day = events(JOBMANAGER)[0].ts.date()
    assert told(events(log, f"jm-{day}.log")) == told(events(JOBMANAGER))
    nameless = reader()
    assert not nameless.feed(log) + nameless.close()
    assert [skip.reason for skip in nameless.skips] == ["no_date"]


@pytest.mark.parametrize(
    ("stamp", "at"), [("2026-11-21T00:00:01Z", ("2026-11-20 "
                                               "23:59:59")), ("2026-11-20T23:59:58Z", ("2026-11-20 "
                                                                                      "23:59:59")),
                      ("2026-11-20T23:59:59Z", "2026-11-21 00:00:01")]
)  # fmt: skip
def test_times_without_a_date_are_of_the_day_nearest_to_their_envelope(stamp: str, at: str) -> None:
    line = (
        f"{stamp} stdout F {at[11:]}.500 [main] INFO  o.a.f.r.c.CheckpointCoordinator - "
        f"{COMPLETED}\n"
    )
    (event,) = events(line.encode())
    assert f"{event.ts:%Y-%m-%d %H:%M:%S}" == at


PUBLIC = {
    "kubernetes": f"2024-12-03T02:18:06.6Z stdout F {HEADER}{COMPLETED}",
    "docker logs -t": f"2023-12-05T13:22:53.658156626Z {HEADER}{COMPLETED}",
    "docker compose": f"pinpoint-flink-taskmanager | {HEADER}{COMPLETED}",
    "yarn, log4j 1": f"20/01/21 10:33:38 INFO checkpoint.CheckpointCoordinator: {COMPLETED}",
    "thread without brackets": HEADER.replace(" INFO ", " Source: a -> b: c (1/1)#1 INFO ")
    + COMPLETED,
    "actor": (
        "2021-03-01 10:00:00.123 [flink-akka.actor.default-dispatcher-3] INFO  "
        f"o.a.f.r.c.CheckpointCoordinator - {COMPLETED}"
    ),
    "job manager with line": (
        f"2021-03-01 10:00:00,123 INFO  o.a.f.r.c.CheckpointCoordinator:1204 [] - {COMPLETED}"
    ),
    "brackets": (
        "[2021-03-01 10:00:00,123] [jobmanager-io-thread-1] [INFO] "
        f"o.a.f.r.c.CheckpointCoordinator - {COMPLETED}"
    ),
    "json": json.dumps(
        {
            "instant": {"epochSecond": 1, "nanoOfSecond": 1},
            "timeMillis": 1795233600001,
            "level": "INFO",
            "message": COMPLETED,
        }
    ),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_lines_as_people_have_them_are_events(name: str) -> None:
    (event,) = events(f"{PUBLIC[name]}\n".encode())
    assert (event.kind, event.job_id, event.checkpoint_id) == ("checkpoint_completed", JOB, 5)


@pytest.mark.parametrize(
    ("line", "process"),
    [
        ("jobmanager-1  | {}", "jobmanager-1"),
        ("[pod/orders-6d8/flink-main-container] {}", "orders-6d8/flink-main-container"),
        ("Nov 21 04:00:00 host-1 flink[812]: {}", "host-1/flink"),
        ("2026-11-21T04:00:00Z stdout F {}", "x.log"),
        (
            '{{"log": "{}", "stream": "stdout", "kubernetes": {{"pod_name": "orders-6d8"}}}}',
            "orders-6d8",
        ),
        ('{{"log": "{}", "kubernetes": {{"pod_name": "a", "container_name": "b"}}}}', "a/b"),
    ],
)
def test_who_printed_a_line_is_taken_from_its_envelope(line: str, process: str) -> None:
    (event,) = events(f"{line.format(HEADER + COMPLETED)}\n".encode())
    assert event.process == process


def test_traces_of_containers_that_print_at_the_same_time_stay_apart() -> None:
    one, two = (
        f"{FAILED.replace('x', name)}\nCaused by: {name}".split("\n") for name in ("one", "two")
    )
    mixed = "".join(f"jm-1  | {a}\ntm-1  | {b}\n" for a, b in zip(one, two, strict=True)).encode()
    found = records_of(mixed, file="x.log")
    assert {(record.process, record.message.rsplit("\n", 1)[-1]) for record in found} == {
        ("jm-1", "Caused by: one"),
        ("tm-1", "Caused by: two"),
    }


def test_a_table_in_a_message_is_no_output_of_a_container() -> None:
    log = f"{FAILED}\nname | type\nid   | INT\n{HEADER}{COMPLETED}\n".encode()
    assert records_of(log, file="x.log")[0].message.endswith("name | type\nid   | INT")


@given(mixed_logs(), st.lists(st.integers(1, 200), max_size=30))
def test_the_size_of_the_pieces_read_changes_nothing(log: bytes, cuts: list[int]) -> None:
    found, at, one = [], 0, reader()
    for size in cuts:
        found += one.feed(log[at : at + size])
        at += size
    found += [*one.feed(log[at:]), *one.close()]
    assert sorted(map(_key, found)) == sorted(map(_key, records_of(log, file="x.log")))


@given(mixed_logs(), st.lists(st.integers(0, 900), max_size=4))
def test_reading_on_where_a_reader_stopped_gives_the_rest(log: bytes, stops: list[int]) -> None:
    found: list[LogRecord] = []
    begin = FileCursor("x.log")
    for stop in sorted(stops):
        one = reader(begin)
        found += one.feed(log[begin.offset : max(stop, begin.offset)])
        begin = FileCursor("x.log", **json.loads(json.dumps(one.resumption())))
    last = reader(begin)
    found += [*last.feed(log[begin.offset :]), *last.close()]
    assert sorted(map(_key, found)) == sorted(map(_key, records_of(log, file="x.log")))


DAMAGE = st.sampled_from(
    [
        b"\xff\xfe\x00",
        b"{" * 100,
        b'{"log": "cut',
        b'{"a":' * 3_000,
        (b"2026-99-99T99:99:99Z stdout F x"),
        b"2026-11-21T04:00:00Z stdout P ",
        b"x" * 5_000,
        (b'{"level": "WARN", "timestamp": 1e400, "message": "m"}'),
        b'{"level": "WARN", "timestamp": 1, "message": "\\ud800"}',
        b"<14>1 - - - - - -",
        (b"9999-12-31 23:59:60,999 WARN  a.b.C [] - x"),
        b"99:99:99 [main] WARN a.B - x",
        b"\x1b[31m",
    ]
)


@settings(deadline=None)
@given(
    st.sampled_from(sorted({**ENVELOPES, **JSON_LAYOUTS, **TEXT_LAYOUTS})),
    st.lists(st.tuples(st.integers(0, 30), DAMAGE), max_size=8),
)
@example("cri in pieces", [(1, b"2026-99-99T99:99:99Z stdout F x")])
def test_damage_between_records_loses_none_beside_it(
    name: str, damage: list[tuple[int, bytes]]
) -> None:
    log = {**ENVELOPES, **JSON_LAYOUTS, **TEXT_LAYOUTS}[name](_plain(20)).split(b"\n")
    for place, junk in damage:
        place = min(place, len(log) - 1)
        # What stands between the pieces of a record is within it: the container runtime would take
        # it for one of them.
        between = next(
            (at for at in range(place, len(log)) if not at or b" stdout P " not in log[at - 1]),
            len(log),
        )
        log.insert(between, junk)
    found = events(b"\n".join(log))
    assert {event.checkpoint_id for event in found} >= set(range(20))


def _plain(count: int) -> bytes:
    return "".join(
        f"{HEADER}{COMPLETED.replace('point 5', f'point {number}')}\n" for number in range(count)
    ).encode()


def _key(record: LogRecord) -> tuple[Any, ...]:
    return (
        record.ts,
        record.process,
        record.record_hash,
        record.ordinal,
        record.offset,
        record.message,
        record.level,
    )


@pytest.mark.parametrize(
    "begins", [b'{"log": "', b"2026-11-21T04:00:00Z stdout F ", b"jm | ", b"", b'{"message": "']
)
def test_a_huge_line_is_neither_held_nor_in_the_way(begins: bytes) -> None:
    one = reader()
    tracemalloc.start()
    found = one.feed(f"{HEADER}{COMPLETED}\n".encode() + begins)
    for _ in range(60):
        found += one.feed(b"x" * 1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found += [*one.feed(f"\n{HEADER}{COMPLETED}\n".encode()), *one.close()]
    assert len([event for event in map(event_of, found) if event]) == 2
    assert peak < 24 * MAX_LINE_BYTES


def test_a_line_of_a_json_log_that_is_cut_is_told() -> None:
    line = JSON_LAYOUTS["Amazon"](_plain(1))
    one = reader()
    one.feed(line + line[:50] + b"\n" + line)
    assert [(skip.reason, skip.subject) for skip in one.skips] == [("bad_json", "x.log")]
    assert one.headers == 2


def test_a_container_that_fell_silent_does_not_hold_the_others_back() -> None:
    one = reader()
    one.feed(f"tm-1  | {HEADER}{COMPLETED}\n".encode())
    for number in range(12_000):
        one.feed(f"jm-1  | {HEADER}Served {number}\n".encode())
    assert one.resume_offset > 1_000_000


@pytest.mark.parametrize(
    "log",
    [JOBMANAGER, ENVELOPES["cri"](JOBMANAGER), ENVELOPES["docker compose"](JOBMANAGER)],
    ids=["plain", "cri", "compose"],
)
def test_offsets_are_those_of_the_file(log: bytes) -> None:
    for record in records_of(log, file="x.log")[::10]:
        line = log[record.offset : log.index(b"\n", record.offset)].decode()
        assert line.endswith(record.message.partition("\n")[0]) and (
            record.offset == 0 or log[record.offset - 1 : record.offset] == b"\n"
        )


def test_a_forged_header_in_a_json_message_begins_no_record() -> None:
    document = {
        "timestamp": 1795233600001,
        "level": "WARN",
        "message": f"user said\n{HEADER}{COMPLETED}",
    }
    (record,) = records_of(json.dumps(document).encode(), file="x.log")
    assert event_of(record) is None and record.ts == datetime(
        2026, 11, 21, 4, 0, 0, 1000, tzinfo=UTC
    )
