"""Whole shards into a real lake: one failing cluster is its own, cursors come back, rows are there
once.
"""

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from ingest.flink_rest.limits import RequestLimits
from ingest.lake.store import Lake
from ingest.shard_collector import ClusterOutcome, collect_shard
from ingest.sources import ClusterSource, LogSource, MetadataSource
from tests.ingest.flink_rest.serving import Answer, Reply, Server, recorded, told
from tests.replayed import RECORDINGS, Replay

START = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)


@contextmanager
def serving(*answers: Answer, tls: ssl.SSLContext | None = None) -> Iterator[list[Server]]:
    """Servers on a loop of their own, for code that runs one itself."""
    loop = asyncio.new_event_loop()
    servers = [Server(answer, tls) for answer in answers]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        for server in servers:
            asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(5)
        yield servers
        for server in servers:
            asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(5)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


def shard(
    lake: Lake, *sources: ClusterSource, cursors: dict[str, Any] | None = None, after_s: float = 0
) -> list[ClusterOutcome]:
    return collect_shard(
        sources,
        cursors or {},
        lake,
        at=lambda: START + timedelta(seconds=after_s),
        limits=RequestLimits(cycle_timeout_s=20),
    )


def rows(lake: Lake, table: str) -> list[dict[str, Any]]:
    return (
        DeltaTable(f"{lake.root}/{table}").to_pyarrow_table().to_pylist()
        if lake.version(table) or _exists(lake, table)
        else []
    )


def _exists(lake: Lake, table: str) -> bool:
    return (Path(lake.root) / table).exists()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def test_one_dead_cluster_does_not_stop_the_others(lake: Lake) -> None:
    with serving(recorded("1.20.5/B"), recorded("1.12.5/G")) as (one, two):
        found = shard(
            lake,
            ClusterSource("a", one.url),
            ClusterSource("dead", "http://127.0.0.1:9", request_timeout_s=1),
            ClusterSource("nonsense", "gopher://x"),
            ClusterSource("b", two.url),
        )
    assert [(outcome.cluster, outcome.reachable) for outcome in found] == [
        ("a", True),
        ("dead", False),
        ("nonsense", False),
        ("b", True),
    ]
    assert [outcome.flink_version for outcome in found] == ["1.20.5", None, None, "1.12.5"]
    assert {row["cluster"] for row in rows(lake, "vertex_metrics")} == {"a", "b"}
    assert {(row["cluster"], row["reason"]) for row in rows(lake, "skips")} == {
        ("dead", "unreachable"),
        ("nonsense", "unreachable"),
    }


def test_a_shard_is_one_commit_per_table(lake: Lake) -> None:
    with serving(recorded("1.20.5/B"), recorded("1.20.5/G")) as (one, two):
        shard(lake, ClusterSource("a", one.url), ClusterSource("b", two.url))
    assert {table: lake.version(table) for table in ("jobs", "checkpoints", "vertex_metrics")} == {
        "jobs": 1, "checkpoints": 1, "vertex_metrics": 1,
    }  # fmt: skip


def test_cursors_come_back_as_json_and_save_the_next_cycle_work(lake: Lake) -> None:
    with serving(recorded("1.20.5/G")) as (server,):
        source = ClusterSource("a", server.url)
        (first,) = shard(lake, source)
        cursor = json.loads(json.dumps(first.cursor))
        (second,) = shard(lake, source, cursors={"a": cursor}, after_s=30)
    assert first.cursor == cursor and second.requests < first.requests
    checkpoints = [
        (row["checkpoint_id"], row["trigger_time"], row["status"], row["discarded"])
        for row in rows(lake, "checkpoints")
    ]
    assert len(checkpoints) == len(set(checkpoints)) > 0


def test_a_cycle_repeated_from_the_old_cursor_gives_the_same_rows(lake: Lake) -> None:
    with serving(recorded("1.20.5/G")) as (server,):
        source = ClusterSource("a", server.url)
        shard(lake, source)
        once = {(row["checkpoint_id"], row["status"]) for row in rows(lake, "checkpoints")}
        shard(lake, source)
    assert {(row["checkpoint_id"], row["status"]) for row in rows(lake, "checkpoints")} == once


def test_log_files_come_with_the_cycle(lake: Lake) -> None:
    logs = LogSource((str(RECORDINGS / "1.20.5/E/logs/*.log"),))
    (found,) = shard(lake, ClusterSource("logs-only", logs=logs))
    (again,) = shard(
        lake, ClusterSource("logs-only", logs=logs), cursors={"logs-only": found.cursor}, after_s=30
    )
    assert found.reachable and found.records > 100 and again.records < found.records / 10
    assert {row["source"] for row in rows(lake, "log_records")} == {"log"}


def _with_log(content: list[bytes], names: list[str]) -> Answer:
    base = recorded("1.20.5/E")

    def answer(path: str, headers: dict[str, str]) -> Reply:
        if path == "/jobmanager/logs":
            return told(
                {
                    "logs": [
                        {"name": name, "size": len(data)}
                        for name, data in zip(names, content, strict=True)
                    ]
                }
            )
        if path.startswith("/jobmanager/logs/"):
            return Reply(content[names.index(path.rpartition("/")[2])], pieces=7)
        return base(path, headers)

    return answer


def test_the_log_endpoint_is_followed_where_no_file_is(lake: Lake) -> None:
    whole = next((RECORDINGS / "1.20.5/E/logs").glob("flink-standalonesession*.log")).read_bytes()
    half = whole.rindex(b"\n", 0, len(whole) // 2) + 1
    content, names = [whole[:half]], ["jm.log"]
    with serving(_with_log(content, names)) as (server,):
        source = ClusterSource("a", server.url)
        (first,) = shard(lake, source)
        content[0] = whole
        (soon,) = shard(lake, source, cursors={"a": first.cursor}, after_s=10)
        (second,) = shard(lake, source, cursors={"a": soon.cursor}, after_s=600)
        # Rolled over: the old content has another name now, and the new file has its first lines.
        content[:], names[:] = (
            [whole, b"2026-11-21 05:00:00,000 WARN  org.apache.flink.x [] - new file\n" * 2],
            ["jm.log.1", "jm.log"],
        )
        shard(lake, source, cursors={"a": second.cursor}, after_s=1200)
        fetched = [path for path in server.asked if path.startswith("/jobmanager/logs/")]
    found = [(row["ts"], row["record_hash"], row["ordinal"]) for row in rows(lake, "log_records")]
    assert len(found) == len(set(found))
    shard(
        tailed := Lake(lake.root + "-tailed"),
        ClusterSource(
            "a", logs=LogSource((str(RECORDINGS / "1.20.5/E/logs/flink-standalone*.log"),))
        ),
    )
    tailed_records = {
        (row["ts"], row["record_hash"], row["ordinal"]) for row in rows(tailed, "log_records")
    }
    assert tailed_records <= set(found) and len(set(found) - tailed_records) <= 2
    assert fetched.count("/jobmanager/logs/jm.log") == 3 and {
        row["source"] for row in rows(lake, "log_records")
    } == {"log_endpoint"}


def test_a_huge_log_is_not_fetched_and_said_so_once(lake: Lake) -> None:
    base = recorded("1.20.5/E")
    listing = told(
        {
            "logs": [
                {"name": "jm.log", "size": 10**9},
                {"name": "jm.out", "size": 5},
                {"name": "../../etc/passwd.log", "size": 5},
            ]
        }
    )
    with serving(
        lambda path, headers: listing if path == "/jobmanager/logs" else base(path, headers)
    ) as (server,):
        source = ClusterSource("a", server.url)
        (first,) = shard(lake, source)
        shard(lake, source, cursors={"a": first.cursor}, after_s=100_000)
        assert not [path for path in server.asked if path.startswith("/jobmanager/logs/")]
    assert [row["reason"] for row in rows(lake, "skips")] == ["too_large"]


def _history(recording: str) -> Answer:
    """What a History Server shows of a recorded job: ended, and without metrics."""
    replay = Replay(recording)
    base = recorded(recording, replay.last_at)

    def answer(path: str, headers: dict[str, str]) -> Reply:
        if path == "/jobs/overview":
            jobs = json.loads(base(path, headers).body)["jobs"]
            return told(
                {
                    "jobs": [
                        {**job, "state": "FINISHED", "end-time": int(replay.last_at * 1000)}
                        for job in jobs
                    ]
                }
            )
        if "metrics" in path or path in ("/overview", "/taskmanagers"):
            return told({"errors": ["File not found."]}, 404)
        return base(path, headers)

    return answer


def test_a_history_server_tells_ended_jobs_once_at_their_end(lake: Lake) -> None:
    ended = Replay("1.20.5/G").last_at
    with serving(_history("1.20.5/G")) as (server,):
        source = ClusterSource(
            "past", history_url=server.url, metadata=MetadataSource(enabled=False)
        )
        (first,) = shard(lake, source)
        asked = len(server.asked)
        (second,) = shard(lake, source, cursors={"past": first.cursor}, after_s=3600)
        assert len(server.asked) == asked + 1
    assert first.reachable and first.jobs_seen == 1 and second.records == 0
    (job,) = rows(lake, "jobs")
    assert (
        job["source"] == "history"
        and abs(job["observed_at"].timestamp() - ended) < 1
        and job["vertices"]
    )
    assert (
        rows(lake, "checkpoints") and rows(lake, "vertex_checkpoints") and not rows(lake, "skips")
    )


def test_a_dead_history_server_is_said_to_be_unreachable(lake: Lake) -> None:
    (found,) = shard(
        lake, ClusterSource("past", history_url="http://127.0.0.1:9", request_timeout_s=1)
    )
    assert not found.reachable and "cannot be reached" in (found.error or "")


def test_two_clusters_at_one_address_share_its_two_requests(lake: Lake) -> None:
    base = recorded("1.20.5/B")

    def slow(path: str, headers: dict[str, str]) -> Reply:
        reply = base(path, headers)
        return Reply(reply.body, reply.status, reply.headers, pause_s=0.01)

    with serving(slow) as (server,):
        collect_shard(
            [ClusterSource("a", server.url), ClusterSource("b", server.url)],
            {},
            lake,
            limits=RequestLimits(requests=12, cycle_timeout_s=20),
        )
        assert server.most_at_once <= 2
