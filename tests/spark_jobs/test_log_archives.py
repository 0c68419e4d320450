"""Bulk loading gives what tailing gives: the same identities, whatever lies in the files."""

import argparse
import gzip
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from ingest.flink_logs.files import LogFile, find
from ingest.flink_logs.layouts import FLINK
from ingest.flink_logs.tail import read_new
from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from ingest.records import LogRecord
from ingest.sources import LogSource
from spark_jobs.log_archives import TABLE, LogArchives, batches

LOGS = Path(__file__).parent.parent / "fixtures" / "recordings" / "1.20.5" / "E" / "logs"
AT = datetime(2026, 11, 22, tzinfo=UTC)
LINE = b"2026-11-21 04:00:00,001 WARN  a.B    [] - "


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A recorded cluster's logs, rotated and packed, with broken, odd and empty files between
    them.
    """
    folder = tmp_path / "logs"
    folder.mkdir()
    jobmanager, taskmanager, *_ = sorted(LOGS.glob("*.log"))
    lines = jobmanager.read_bytes().splitlines(keepends=True)
    (folder / "jm.log.2.gz").write_bytes(gzip.compress(b"".join(lines[:600])))
    (folder / "jm.log.1").write_bytes(b"".join(lines[600:900]))
    (folder / "jm.log").write_bytes(b"".join(lines[900:]))
    shutil.copy(taskmanager, folder / "tm.log")
    (folder / "odd.log").write_bytes(
        b"\0" * 100
        + LINE
        + b"same\n"
        + LINE
        + b"same\n"
        + LINE
        + b"trace\n2026 is a line of it\n\tat a.B\n"
    )
    (folder / "empty.log").write_bytes(b"")
    (folder / "LOG").write_bytes(b"2026/11/21-04:11:43.318985 7f57 RocksDB version: 6.20.3\n" * 10)
    (folder / "bad.log.1.gz").write_bytes(gzip.compress(LINE + b"never read\n" * 10_000)[:-200])
    return folder


def archives(spark: SparkSession, lake: Lake) -> LogArchives:
    return LogArchives(spark, lake, "c", FLINK, "UTC", "events", AT)


def in_lake(lake: Lake) -> list[dict[str, Any]]:
    table = DeltaTable(f"{lake.root}/derived/log_records").to_pyarrow_table()
    return table.sort_by([("process", "ascending"), ("ts", "ascending")]).to_pylist()


def key(row: Any) -> tuple[Any, ...]:
    get = row.get if isinstance(row, dict) else row.__getattribute__
    return tuple(
        get(name)
        for name in ("process", "ts", "record_hash", "ordinal", "level", "logger", "message")
    )


def test_archives_give_the_rows_that_tailing_gives(
    spark: SparkSession, archive: Path, tmp_path: Path
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    loader = archives(spark, lake)
    count = loader.load(find([f"{archive}/*"])[0])
    rows = in_lake(lake)
    tailed = read_new(LogSource(globs=(f"{archive}/*",)), "c", None, AT, final=True)
    expected = [
        record
        for observed in tailed.observed
        for record in observed.records
        if isinstance(record, LogRecord)
    ]
    assert count == len(rows) > 200
    assert {key(row) for row in rows} == {
        key(record) for record in expected if not record.file.endswith("bad.log.1.gz")
    }
    assert {(Path(skip.subject).name, skip.reason) for skip in loader.skips} == {
        ("bad.log.1.gz", "unreadable_file"),
        ("LOG", "no_header"),
    }


def test_rows_are_stamped_and_their_bounds_recorded(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    files, _ = find([f"{LOGS}/*standalone*.log"])
    archives(spark, lake).load(files[:1])
    archives(spark, lake).load(files[:1])
    rows = in_lake(lake)
    assert {row["commit_seq"] for row in rows} == {1, 2}
    newest = lake.files(TABLE, after_seq=lake.version(TABLE) - 1)
    assert {file.last_seq for file in newest} == {lake.version(TABLE)}
    assert min(file.first_time for file in newest if file.first_time) == min(
        row["ts"] for row in rows
    )
    assert sum(file.rows for file in newest) * 2 == len(rows)
    found = lake.read(
        TABLE, where={"cluster": "c"}, from_time=rows[0]["ts"], to_time=rows[-1]["ts"], limit=10_000
    )
    assert pc.count_distinct(found["record_hash"]).as_py() > 100


def test_nothing_is_left_beside_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    archives(spark, lake).load(find([f"{LOGS}/*.log"])[0][:1])
    assert list((tmp_path / "lake" / "derived" / "_staging").iterdir()) == []


def test_files_are_taken_in_batches_of_about_equal_size() -> None:
    files = [
        LogFile(path, size, "")
        for path, size in (("a", 6), ("b", 5), ("c.gz", 2), ("d", 1), ("e", 2))
    ]
    assert [[file.path for file in batch] for batch in batches(files, 10)] == [
        ["a"],
        ["b"],
        ["c.gz"],
        ["d", "e"],
    ]


def test_the_job_reads_globs_and_names_what_it_skipped(
    spark: SparkSession,
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from spark_jobs.jobs import log_events

    monkeypatch.setattr(log_events, "open_session", lambda name, **_options: spark)
    monkeypatch.setattr(log_events, "BATCH_BYTES", 200_000)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    parser = argparse.ArgumentParser()
    log_events.add_arguments(parser)
    lake = tmp_path / "lake"
    code = log_events.run(
        parser.parse_args(
            [
                "--from-files",
                f"{archive}/*",
                "--cluster",
                "c",
                "--lake",
                str(lake),
            ]
        )
    )
    assert code == 1
    assert "bad.log.1.gz" in capsys.readouterr().err
    assert DeltaTable(f"{lake}/derived/skips").to_pyarrow_table().num_rows == 2
    written = Lake(str(lake))
    assert written.version(TABLE) and not any(written.version(table) for table in TABLES), (
        "what is raw is left to ingest"
    )
