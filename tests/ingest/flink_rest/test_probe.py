"""The connection test says what is seen and what is not."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingest.connection_test import probe
from ingest.flink_logs.probe import zone_is_doubtful
from ingest.source_read import ProbeNotes
from ingest.sources import Auth, ClusterSource, LogSource
from tests.ingest.flink_rest.serving import Answer, Reply, Server, recorded, told
from tests.replayed import RECORDINGS


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The server on a loop of its own: the probe runs one too."""
    loop = asyncio.new_event_loop()
    server = Server(answer)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(5)
        yield server.url
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(5)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


def said(found: ProbeNotes) -> str:
    return " | ".join((*found.sees, *found.misses))


def test_a_running_flink_is_described() -> None:
    with serving(recorded("1.20.5/B")) as url:
        found = probe(ClusterSource("lab", url), 5)
    assert (found.reachable, found.flink_version) == (True, "1.20.5")
    assert "checkpoints:" in said(found) and "metrics:" in said(found)
    assert "the JobManager serves no log files" in said(found)


def test_an_old_flink_is_said_to_report_less() -> None:
    with serving(recorded("1.12.5/G")) as url:
        found = probe(ClusterSource("lab", url), 5)
    assert any("busy time" in sentence for sentence in found.misses)


def test_an_unknown_flink_is_said_to_be_unknown() -> None:
    with serving(lambda path, headers: told({"flink-version": "9.9", "jobs": []})) as url:
        found = probe(ClusterSource("lab", url), 5)
    assert found.reachable and any(
        "9.9 is not one of the known releases" in sentence for sentence in found.misses
    )
    assert "REST of Flink 9.9" in found.sees


def test_something_that_is_no_flink_is_said_to_be_none() -> None:
    with serving(lambda path, headers: told({"hello": "world"})) as url:
        found = probe(ClusterSource("lab", url), 5)
    assert not found.reachable and "not like a Flink JobManager" in said(found)


def test_a_wrong_password_is_named_and_not_shown() -> None:
    with serving(lambda path, headers: told({"errors": ["no"]}, 401)) as url:
        found = probe(ClusterSource("lab", url, auth=Auth("basic", "canary", "ops")), 5)
    assert (
        not found.reachable
        and "Check user, password, token or ticket" in said(found)
        and "canary" not in repr(found)
    )


def test_a_hang_ends_in_time() -> None:
    with serving(lambda path, headers: Reply(hang=True)) as url:
        found = probe(ClusterSource("lab", url, request_timeout_s=30), 0.3)
    assert found.misses == ["The JobManager did not answer within 0.3 s."]


def test_a_dead_address_does_not_hide_the_logs() -> None:
    logs = LogSource((str(RECORDINGS / "1.20.5/E/logs/*.log"),))
    found = probe(ClusterSource("lab", "http://127.0.0.1:9", logs=logs), 20)
    assert found.reachable and "log files: 4" in said(found) and "cannot be reached" in said(found)


def test_logs_of_another_layout_or_none_are_missed(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("2026/11/21 hello\n" * 10)
    found = probe(
        ClusterSource(
            "lab", logs=LogSource((str(tmp_path / "*.log"), str(tmp_path / "none/*.log")))
        )
    )
    assert "without the declared layout" in said(found)
    assert "nothing matches" in said(
        probe(ClusterSource("lab", logs=LogSource((str(tmp_path / "no*.log"),))))
    )


def test_nonsense_layouts_and_zones_are_sentences() -> None:
    logs = LogSource((str(RECORDINGS / "1.20.5/E/logs/*.log"),), time_zone="Mars/Olympus")
    assert "Mars/Olympus" in said(probe(ClusterSource("lab", logs=logs)))


@pytest.mark.parametrize(("zone", "doubted"), [("UTC", True), ("Asia/Shanghai", False)])
def test_the_declared_zone_is_compared_with_the_jobmanagers(zone: str, doubted: bool) -> None:
    config = told({"timezone-name": "China Standard Time", "timezone-offset": 28_800_000})
    base = recorded("1.20.5/B")
    with serving(lambda path, headers: config if path == "/config" else base(path, headers)) as url:
        found = probe(ClusterSource("lab", url, logs=LogSource(time_zone=zone)), 5)
    assert ("China Standard Time (UTC+8 h), its logs are declared as UTC" in said(found)) is doubted


def test_nothing_declared_is_nothing_to_see() -> None:
    found = probe(ClusterSource("lab"))
    assert not found.reachable and "nothing to read" in said(found)


NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("off", "doubtful"),
    [
        (timedelta(seconds=-5), False),
        (timedelta(minutes=-10), False),
        (timedelta(hours=-8, seconds=-3), True),
        (timedelta(hours=-5, minutes=-30), True),
        (timedelta(hours=2), True),
        (timedelta(days=-40), False),
    ],
)
def test_a_zone_is_doubted_when_whole_half_hours_are_off(off: timedelta, doubtful: bool) -> None:
    assert zone_is_doubtful(NOW + off, NOW) is doubtful
