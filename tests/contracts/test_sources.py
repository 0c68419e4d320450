"""Sources of a cluster: each is declared once, and a folder is all that a new one takes."""

import inspect
import pkgutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ingest
from ingest.connection_test import probe
from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.source_declaration import Source
from ingest.source_registry import settings, sources
from ingest.sources import ClusterSource, LogSource
from tests.ingest.flink_rest.serving import told
from tests.ingest.test_shard_collector import rows, serving
from tests.replayed import RECORDINGS

AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
LOGS = LogSource((str(RECORDINGS / "1.20.5/E/logs/*.log"),))


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(
        ingest, "__path__", [*ingest.__path__, str(Path(__file__).parent / "made_up")]
    )
    sources.cache_clear()
    yield
    sources.cache_clear()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.mark.usefixtures("weather")
def test_a_new_source_is_collected_by_its_folder_alone(lake: Lake) -> None:
    with serving(lambda path, headers: told({"sky": "clear"})) as (server,):
        cluster = ClusterSource("a", settings={"weather_url": server.url})
        (first,) = collect_shard([cluster], {}, lake, at=lambda: AT)
        later = AT + timedelta(seconds=30)
        (again,) = collect_shard([cluster], {"a": first.cursor}, lake, at=lambda: later)
        assert probe(cluster).sees == ["weather: 1 station"]
    assert {(row["source"], row["message"]) for row in rows(lake, "log_records")} == {
        ("weather", "clear, 0"),
        ("weather", "clear, 1"),
    }
    assert (first.reachable, first.requests, again.cursor["weather"]) == (True, 1, {"turns": 2})
    assert "weather_url" in {setting.field for setting in settings("address")}


@pytest.mark.usefixtures("weather")
def test_a_new_source_that_fails_stops_itself_alone(lake: Lake) -> None:
    with serving(lambda path, headers: told(["no", "sky"])) as (server,):
        bad = ClusterSource("bad", logs=LOGS, settings={"weather_url": server.url})
        (one, other) = collect_shard(
            [bad, ClusterSource("good", logs=LOGS)], {}, lake, at=lambda: AT
        )
    assert {row["cluster"] for row in rows(lake, "log_records")} == {"bad", "good"}
    assert "TypeError" in str(one.error) and "weather" not in one.cursor and "logs" in one.cursor
    assert other.error is None


@pytest.mark.usefixtures("weather")
def test_a_file_that_cannot_be_read_stops_its_source_alone(lake: Lake, tmp_path: Path) -> None:
    bad = ClusterSource("bad", logs=LOGS, settings={"almanac_dir": str(tmp_path)})
    (one, other) = collect_shard([bad, ClusterSource("good", logs=LOGS)], {}, lake, at=lambda: AT)
    assert {row["cluster"] for row in rows(lake, "log_records")} == {"bad", "good"}
    assert [(row["source"], row["reason"]) for row in rows(lake, "skips")] == [
        ("almanac", "unreadable_file")
    ]
    assert one.reachable and one.skips == 1 and "almanac" not in one.cursor and other.skips == 0


def test_names_and_settings_are_declared_once() -> None:
    names, fields = [source.name for source in sources()], [setting.field for setting in settings()]
    assert len(set(names)) == len(names) > 10 and len(set(fields)) == len(fields)


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_what_reads_and_probes_is_a_coroutine_unless_it_reads_files(source: Source) -> None:
    for name in filter(None, (source.reader, source.probe)):
        assert inspect.iscoroutinefunction(pkgutil.resolve_name(name)) is not source.files
    assert bool(source.probe) is bool(source.subject)
