"""Tailing in cycles: what is read when, what is reported, what stays bounded."""

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.flink_logs import tail
from ingest.flink_logs.tail import read_new
from ingest.records import LogRecord
from ingest.source_read import SourceRead
from ingest.sources import LogSource

AT = datetime(2026, 11, 21, tzinfo=UTC)


def line(number: int, text: str = "record") -> bytes:
    return (
        f"2026-11-21 04:{number // 60 % 60:02d}:{number % 60:02d},001 WARN  a.B [] - {text} "
        f"{number}\n"
    ).encode()


def told(result: SourceRead) -> list[str]:
    return [
        record.message
        for observed in result.observed
        for record in observed.records
        if isinstance(record, LogRecord)
    ]


def cycle(folder: Path, before: SourceRead | None = None, **options: int) -> SourceRead:
    source = LogSource(globs=(f"{folder}/*",), **options)
    return read_new(source, "c", json.loads(json.dumps(before.cursor)) if before else None, AT)


def test_only_what_is_new_is_read_and_the_last_record_waits_for_its_end(tmp_path: Path) -> None:
    log = tmp_path / "jm.log"
    log.write_bytes(line(1) + line(2))
    first = cycle(tmp_path)
    with log.open("ab") as file:
        file.write(b"\tat a.B\n" + line(3))
    second = cycle(tmp_path, first)
    assert (told(first), told(second)) == (["record 1"], ["record 2\n\tat a.B"])


def test_a_file_that_stands_still_for_two_cycles_gives_its_last_record_once(tmp_path: Path) -> None:
    (tmp_path / "jm.log").write_bytes(line(1)[:-5])
    results = [cycle(tmp_path)]
    for _ in range(4):
        results.append(cycle(tmp_path, results[-1]))
    assert [told(result) for result in results] == [[], [], ["reco"], [], []]


def test_a_renamed_file_is_read_on_and_its_successor_from_the_start(tmp_path: Path) -> None:
    log = tmp_path / "jm.log"
    log.write_bytes(line(1) + line(2))
    first = cycle(tmp_path)
    with log.open("ab") as file:
        file.write(line(3))
    log.rename(tmp_path / "jm.log.1")
    log.write_bytes(line(4) + line(5))
    second = cycle(tmp_path, first)
    third = cycle(tmp_path, second)
    assert told(first) == ["record 1"]
    assert sorted(told(second) + told(third)) == ["record 2", "record 3", "record 4"]


def test_an_archive_of_a_file_that_was_read_gives_only_what_was_missing(tmp_path: Path) -> None:
    log = tmp_path / "jm.log"
    log.write_bytes(line(1) + line(2))
    first = cycle(tmp_path)
    (tmp_path / "jm.log.3.gz").write_bytes(gzip.compress(log.read_bytes() + line(3)))
    log.unlink()
    assert told(cycle(tmp_path, first)) == ["record 2", "record 3"]


def test_a_truncated_file_that_goes_on_behind_a_hole_is_read_on(tmp_path: Path) -> None:
    log = tmp_path / "jm.log"
    log.write_bytes(line(1) + line(2))
    first = cycle(tmp_path)
    log.write_bytes(b"\0" * 9_000 + line(3) + line(4))
    second = cycle(tmp_path, first)
    with log.open("ab") as file:
        file.write(line(5))
    third = cycle(tmp_path, second)
    assert (told(second), told(third)) == (["record 3"], ["record 4"])


def test_a_cycle_that_is_repeated_gives_the_same_identities(tmp_path: Path) -> None:
    log = tmp_path / "jm.log"
    log.write_bytes(line(1, "same") * 3)
    first = cycle(tmp_path)
    with log.open("ab") as file:
        file.write(line(1, "same") * 2 + line(2))
    again = [
        [record for observed in cycle(tmp_path, first).observed for record in observed.records]
        for _ in range(2)
    ]
    assert again[0] == again[1]
    assert [record.ordinal for record in again[0] if isinstance(record, LogRecord)] == [2, 3, 4]


def test_the_budget_of_a_cycle_is_shared_and_the_rest_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "READ_BYTES", 10_000)
    monkeypatch.setattr(tail, "LEAST_SHARE_BYTES", 10_000)
    for name in ("a.log", "b.log", "c.log"):
        (tmp_path / name).write_bytes(b"".join(line(number, name) for number in range(1_000)))
    results = [cycle(tmp_path, max_bytes_per_cycle=30_000)]
    assert 300 < len(told(results[0])) < 1_000
    while told(results[-1]):
        results.append(cycle(tmp_path, results[-1], max_bytes_per_cycle=30_000))
    found = [message for result in results for message in told(result)]
    assert len(found) == len(set(found)) == 3 * 999


def test_thousands_of_idle_files_cost_nothing_but_a_small_cursor(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"tm-{number}.log").write_bytes(line(number) + line(number + 1))
    first = cycle(tmp_path)
    second = cycle(tmp_path, cycle(tmp_path, first))
    assert len(told(first)) == len(told(second)) == 2_000
    assert len(json.dumps(second.cursor)) < 1_000 * 2_000
    assert told(cycle(tmp_path, second)) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_skipped_and_named_once(tmp_path: Path) -> None:
    (tmp_path / "jm.log").write_bytes(line(1))
    (tmp_path / "jm.log").chmod(0)
    first = cycle(tmp_path)
    assert [skip.reason for skip in first.skips] == ["unreadable_file"]
    assert cycle(tmp_path, first).skips == ()


def test_a_broken_archive_gives_what_can_be_read_and_is_named_once(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(line(number) for number in range(20_000)))
    (tmp_path / "jm.log.1.gz").write_bytes(packed[: len(packed) // 2])
    first = cycle(tmp_path)
    assert [skip.reason for skip in first.skips] == ["unreadable_file"]
    assert cycle(tmp_path, first).skips == ()


def test_a_file_in_another_layout_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "LOG").write_bytes(
        b"2026/11/21-04:11:43.318985 7f57 RocksDB version: 6.20.3\n" * 2_000
    )
    first = cycle(tmp_path)
    assert [skip.reason for skip in first.skips] == ["no_header"]
    with (tmp_path / "LOG").open("ab") as file:
        file.write(b"more\n")
    assert cycle(tmp_path, first).skips == ()


def test_a_cursor_that_makes_no_sense_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "jm.log").write_bytes(line(1) + line(2))
    source = LogSource(globs=(f"{tmp_path}/*",))
    assert told(
        read_new(source, "c", {"files": [{"path": 3, "seen": "no"}], "cycle": "x"}, AT)
    ) == ["record 1"]


def test_logs_on_another_file_system_are_followed(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/logs/jm.log", line(1) + line(2))
    first = read_new(LogSource(globs=("memory://logs/*.log*",)), "c", None, AT)
    memory.pipe("/logs/jm.log", line(1) + line(2) + line(3))
    second = read_new(LogSource(globs=("memory://logs/*.log*",)), "c", first.cursor, AT)
    memory.rm("/logs", recursive=True)
    assert (told(first), told(second)) == (["record 1"], ["record 2"])
