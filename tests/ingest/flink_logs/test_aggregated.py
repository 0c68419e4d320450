"""Logs that YARN gathered, in files that Hadoop 3.5.0's own classes wrote
(``tests/fixtures/yarn``), and the same files damaged.
"""

import io
import shutil
import tracemalloc
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.flink_logs import aggregated, tfile
from ingest.flink_logs.aggregated import is_node_file, logs_in
from ingest.flink_logs.event_parser import event_of
from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.files import find, open_unpacked, read_files
from ingest.flink_logs.tail import read_new
from ingest.flink_logs.tfile import BadTFile
from ingest.records import LogRecord
from ingest.sources import LogSource

FIXTURES = Path(__file__).parents[2] / "fixtures"
APPLICATION = FIXTURES / "yarn" / "application_1764000000000_0007"
PACKED, PLAIN = APPLICATION / "node-1.example.org_45454", APPLICATION / "node-2.example.org_45454"
LOGS = FIXTURES / "recordings" / "1.20.5" / "E" / "logs"
WRITTEN = {
    "node-1.example.org_45454/container_1764000000000_0007_01_000001/jobmanager.log": "flink-standalonesession-0-flink-jm.log",
    "node-1.example.org_45454/container_1764000000000_0007_01_000002/taskmanager.log": "flink-taskexecutor-0-flink-tm-1.log",
    "node-1.example.org_45454/container_1764000000000_0007_01_000003/taskmanager.log": "flink-taskexecutor-1-flink-tm-2.log",
    "node-2.example.org_45454/container_1764000000000_0007_01_000004/taskmanager.log": "flink-taskexecutor-2-flink-tm-3.log",
}
"""What Hadoop was given as what."""
AT = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    aggregated._KNOWN.clear()
    yield
    aggregated._KNOWN.clear()


def events(records: list[LogRecord]) -> list[LogEvent]:
    return [event for record in records if (event := event_of(record)) is not None]


def test_every_log_of_every_container_has_the_bytes_that_hadoop_was_given() -> None:
    found, skips = find([f"{APPLICATION}/*"])
    logs = {file.path: file for file in found if file.path.endswith(".log")}
    assert ({path.removeprefix(f"{APPLICATION}/") for path in logs}, skips) == (set(WRITTEN), [])
    assert len(found) == 3 * len(WRITTEN)
    for path, file in logs.items():
        content = (LOGS / WRITTEN[path.removeprefix(f"{APPLICATION}/")]).read_bytes()
        with open_unpacked(path) as stream:
            assert (stream.read(), file.size) == (content, len(content))
            stream.seek(1000)
            assert stream.read(10) == content[1000:1010]


def test_the_events_are_those_of_the_plain_files_and_say_the_container() -> None:
    found = read_new(LogSource(globs=(f"{APPLICATION}/*",)), "shop", None, AT, final=True)
    of_yarn = events(
        [
            record
            for observed in found.observed
            for record in observed.records
            if isinstance(record, LogRecord)
        ]
    )
    plain = read_files([str(LOGS / name) for name in WRITTEN.values()], cluster="shop")
    of_files = events(
        [
            record
            for observed in plain
            for record in observed.records
            if isinstance(record, LogRecord)
        ]
    )
    assert sorted(
        (str(event.kind), str(event.ts), event.checkpoint_id or 0) for event in of_yarn
    ) == sorted((str(event.kind), str(event.ts), event.checkpoint_id or 0) for event in of_files)
    declined = [event for event in of_yarn if event.kind == "checkpoint_declined"]
    assert declined
    assert {event.process for event in declined} == {
        "container_1764000000000_0007_01_000001/jobmanager.log"
    }


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    folder = tmp_path / APPLICATION.name
    folder.mkdir()
    shutil.copy(PLAIN, folder)
    source = LogSource(globs=(f"{tmp_path}/application_*/*",))
    first = read_new(source, "shop", None, AT, final=True)
    assert first.observed
    assert read_new(source, "shop", first.cursor, AT, final=True).observed == ()
    shutil.copy(PACKED, folder)
    later = read_new(source, "shop", first.cursor, AT, final=True)
    processes = {
        record.process
        for observed in later.observed
        for record in observed.records
        if isinstance(record, LogRecord)
    }
    assert all("000004" not in process for process in processes)
    assert processes


def test_a_damaged_file_is_skipped_with_a_reason_and_those_beside_it_are_read(
    tmp_path: Path,
) -> None:
    folder = tmp_path / APPLICATION.name
    folder.mkdir()
    shutil.copy(PLAIN, folder)
    (folder / "node-3_45454").write_bytes(PACKED.read_bytes()[:-100])
    (folder / "node-4_45454").write_bytes(b"not Hadoop's")
    (folder / "node-5_45454").write_bytes(b"")
    (folder / "node-6_45454.tmp").write_bytes(PACKED.read_bytes()[:1000])
    found, skips = find([f"{folder}/*_45454"])
    assert {Path(file.path).parents[1].name for file in found} == {PLAIN.name}
    assert [(Path(skip.subject).name, skip.reason) for skip in skips] == [
        ("node-3_45454", "unreadable_file"),
        ("node-4_45454", "unreadable_file"),
        ("node-5_45454", "unreadable_file"),
    ]
    assert ["still written" in skips[0].detail, "as a TFile does" in skips[1].detail] == [
        True,
        True,
    ]


def test_logs_that_were_laid_out_as_files_are_read_as_files(tmp_path: Path) -> None:
    log = (
        tmp_path
        / APPLICATION.name
        / "node-1_45454"
        / "container_1764000000000_0007_01_000001"
        / "jobmanager.log"
    )
    log.parent.mkdir(parents=True)
    log.write_bytes(b"laid out")
    with open_unpacked(str(log)) as stream:
        assert stream.read() == b"laid out"


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/tmp/logs/flink/logs/application_1764000000000_0007/host_45454", True),
        (
            "hdfs://ns/app-logs/flink/bucket-logs-tfile/0007/application_1764000000000_0007/host.example.org_8041_1764000000123",
            True,
        ),
        ("/tmp/logs/application_1764000000000_0007/host_45454.tmp", False),
        ("/var/log/flink/jobmanager.log", False),
        ("/logs/application_1764000000000_0007/host_45454/container_1/jobmanager.log", False),
    ],
)
def test_a_nodes_file_is_known_by_its_name(path: str, is_one: bool) -> None:
    assert is_node_file(path) is is_one


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_is_damaged_is_refused_in_bounded_pieces(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from([PACKED, PLAIN])).read_bytes())
    last = len(content) - 1
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.one_of(st.integers(0, last), st.integers(last - 400, last)))
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    try:
        logs, _ = logs_in(io.BytesIO(bytes(content[:cut])))
    except BadTFile:
        return
    assert len(logs) <= aggregated.MAX_LOGS
    assert all("/" not in log.name for log in logs)


def number(value: int) -> bytes:
    """``Utils.writeVLong``, in its forms of one byte and of four bytes behind -125."""
    if -32 <= value <= 127:
        return value.to_bytes(1, "big", signed=True)
    return (-125).to_bytes(1, "big", signed=True) + value.to_bytes(4, "big", signed=True)


def text(value: bytes) -> bytes:
    return number(len(value)) + value


def made(block: bytes, raw_bytes: int, algorithm: bytes = b"gz") -> bytes:
    index = text(algorithm) + number(1) + number(16) + number(len(block)) + number(raw_bytes)
    at = 16 + len(block)
    meta = (
        number(1)
        + text(b"data:BCFile.index")
        + text(b"none")
        + number(at)
        + number(len(index))
        + number(len(index))
    )
    return (
        tfile.MAGIC
        + block
        + index
        + meta
        + (at + len(index)).to_bytes(8, "big")
        + b"\x00\x01\x00\x00"
        + tfile.MAGIC
    )


KEY = b"container_1764000000000_0007_01_000001"
ENTRY = number(len(KEY) + 2) + len(KEY).to_bytes(2, "big") + KEY


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (made(zlib.compress(b"\0" * 10_000_000), 100), "more than it says"),
        (made(zlib.compress(b"\0"), 100), "less than it says"),
        (made(b"no zlib at all", 100), "cannot be unpacked"),
        (made(b"", 0, b"lzo"), "lzo"),
        (made(number(10_000_000) + b"x" * 10, 15, b"none"), "a key is longer"),
        (made(ENTRY + number(40) + b"\x00\x01a" + b"\x00\x02xx", 41 + 1 + 7, b"none"), "no number"),
        (
            made(ENTRY + number(11) + b"\x00\x06../../" + b"\x00\x011", len(ENTRY) + 12, b"none"),
            "no name of a file",
        ),
        (
            made(
                ENTRY + number(9) + b"\x00\x01a" + b"\x00\x0299" + b"xy", len(ENTRY) + 10, b"none"
            ),
            "before its time",
        ),
    ],
)
def test_a_file_that_was_made_to_harm_is_refused(content: bytes, told: str) -> None:
    try:
        _, trouble = logs_in(io.BytesIO(content))
    except BadTFile as error:
        trouble = str(error)
    assert told in trouble


def test_no_more_than_a_piece_of_a_bomb_is_held() -> None:
    bomb = made(
        zlib.compress(ENTRY + number(-(1 << 25)) + b"\0" * (1 << 25) + number(0), 9),
        len(ENTRY) + (1 << 25) + 6,
    )
    tracemalloc.start()
    with pytest.raises(BadTFile):
        logs_in(io.BytesIO(bomb))
    assert tracemalloc.get_traced_memory()[1] < 2 * 1024 * 1024
    tracemalloc.stop()
