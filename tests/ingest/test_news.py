"""Commits that bring what somebody waits for, told apart from those that say that all is as
before.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.lake.store import Lake
from ingest.records import (
    Checkpoint,
    Job,
    JobException,
    LogRecord,
    Observed,
    Record,
    Skip,
    Vertex,
    VertexMetrics,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)
JOB = "a" * 32


def log(level: str) -> LogRecord:
    return LogRecord("jm", AT, level, "logger", "message", "hash", 0, "file", 0)


NEWS = (
    Checkpoint(JOB, 1, AT, "COMPLETED"),
    Checkpoint(JOB, 1, AT, "FAILED"),
    Job(JOB, "job", "RESTARTING", vertices=(Vertex("b" * 32, "source", 1),)),
    Job(JOB, None, "NOT_LISTED", end_time=AT),
    JobException(JOB, AT, None, "java.io.IOException", None),
    VertexMetrics(JOB, "b" * 32, AT),
    log("WARN"),
    log("ERROR"),
)
ROUTINE = (
    Checkpoint(JOB, 1, AT, "IN_PROGRESS"),
    Job(JOB, "job", "RUNNING"),
    log("INFO"),
    log("DEBUG"),
    Skip("/overview", "error", ""),
)


def commit(lake: Lake, *records: Record) -> str:
    """Returns the one table that was written."""
    (table,) = lake.append([Observed("c", AT, "rest", records)])
    return table


@pytest.mark.parametrize("record", NEWS, ids=repr)
def test_what_ended_failed_or_was_measured_is_news(tmp_path: Path, record: Record) -> None:
    lake = Lake(str(tmp_path))
    assert lake.has_news(commit(lake, record), 0)


@pytest.mark.parametrize("record", ROUTINE, ids=repr)
def test_what_goes_on_as_before_is_none(tmp_path: Path, record: Record) -> None:
    lake = Lake(str(tmp_path))
    assert not lake.has_news(commit(lake, record), 0)


def test_one_row_of_news_among_others_is_enough(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    assert lake.has_news(commit(lake, log("INFO"), log("ERROR"), log("INFO")), 0)


def test_only_commits_after_those_that_are_known_count(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    commit(lake, log("ERROR"))
    table = commit(lake, log("INFO"))
    assert lake.has_news(table, 0)
    assert not lake.has_news(table, 1)
    assert not lake.has_news(table, 2)
    assert not lake.has_news("jobs", 0)


def test_a_compaction_is_no_news(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    for _ in range(3):
        table = commit(lake, log("ERROR"))
    lake.compact(table)
    assert lake.version(table) == 4
    assert not lake.has_news(table, 3)


def test_a_lake_stands_where_its_tables_stand(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    assert lake.is_at({"jobs": 0, "log_records": 0})
    commit(lake, log("INFO"))
    assert lake.is_at({"jobs": 0, "log_records": 1})
    assert not lake.is_at({"log_records": 0})
    assert not lake.is_at({"log_records": 2})
    lake.compact("log_records")
    assert lake.is_at({"log_records": lake.version("log_records")})
