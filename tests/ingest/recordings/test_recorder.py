"""What is recorded from a cluster tells an import what a collector would have seen, and no
secret.
"""

import asyncio
import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from ingest.errors import Refused
from ingest.flink_rest.address import parse_address
from ingest.flink_rest.client import Gate
from ingest.lake.store import Lake
from ingest.recordings.importer import ImportSummary, import_recording
from ingest.recordings.recorder import LogCopies, MaskedLog, RecordSummary, masked, record
from ingest.sources import Auth, ClusterSource, LogSource
from tests.ingest.flink_rest.serving import Answer, Reply, Server, recorded, told
from tests.redaction import HONEST, SPELLINGS, Spelling
from tests.replayed import RECORDINGS

NOWHERE = parse_address("http://127.0.0.1:8081", Auth("basic", "canary-secret", "ops"))


def recording_of(
    answer: Answer, folder: Path, seconds: float = 0, max_bytes: int = 10**9, **fields: Any
) -> RecordSummary:
    async def conversation() -> RecordSummary:
        async with Server(answer) as server:
            source = ClusterSource("x", server.url, **fields)
            return await record(
                source,
                folder,
                seconds=seconds,
                every_s=0.2,
                max_bytes=max_bytes,
                at=_ticking().__next__,
                gate=Gate(0.01),
            )

    return asyncio.run(conversation())


def _ticking() -> Iterator[datetime]:
    now = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
    while True:
        yield now
        now += timedelta(milliseconds=20)


def imported(folder: Path, lake: Path) -> ImportSummary:
    return import_recording(folder, "case", Lake(str(lake)))


def test_a_recorded_cluster_imports_with_all_its_facts(tmp_path: Path) -> None:
    logs = LogSource((str(RECORDINGS / "1.20.5/E/logs/*.log"),))
    summary = recording_of(recorded("1.20.5/E"), tmp_path / "case", logs=logs)
    found = imported(tmp_path / "case", tmp_path / "lake")
    assert (
        summary.jobs
        and summary.jobs.keys() == found.jobs
        and found.flink_version == "1.20.5"
        and not found.skips
    )
    assert min(
        found.records[table]
        for table in (
            "jobs",
            "checkpoints",
            "vertex_checkpoints",
            "vertex_metrics",
            "taskmanagers",
            "log_records",
        )
    )
    for row in DeltaTable(str(tmp_path / "lake/vertex_metrics")).to_pyarrow_table().to_pylist():
        assert (
            row["in_pool_usage"]
            and row["busy_ms_per_s"]
            and row["host"]
            and len(row["host"]) == row["parallelism"]
        )


def test_what_flink_could_not_tell_yet_is_none_of_an_import_s_skips(tmp_path: Path) -> None:
    start = (Path(__file__).parents[2] / "fixtures/starts/2.3.0.jsonl").read_text().splitlines()
    unknown = next(
        told(entry["body"], 500) for entry in map(json.loads, start) if entry["status"] == 500
    )
    other = told(
        {"errors": ["Internal server error.", "java.util.concurrent.TimeoutException"]}, 500
    )
    base = recorded("1.20.5/E")

    def starting(path: str, headers: dict[str, str]) -> Reply:
        return (
            unknown
            if path.endswith("/checkpoints")
            else other
            if path.endswith("/exceptions")
            else base(path, headers)
        )

    recording_of(starting, tmp_path / "case")
    skips = imported(tmp_path / "case", tmp_path / "lake").skips
    assert [skip.subject.rpartition("/")[2] for skip in skips] == ["exceptions"]


def test_several_polls_are_recorded_once_per_answer(tmp_path: Path) -> None:
    summary = recording_of(recorded("1.20.5/B"), tmp_path / "case", seconds=2.5)
    lines = [json.loads(line) for line in (tmp_path / "case/rest.jsonl").read_text().splitlines()]
    polls = sum(line["path"] == "/jobs/overview" for line in lines)
    assert polls > 1 and len(lines) == summary.answers
    details = [
        line["path"]
        for line in lines
        if "/details/" in line["path"] and "subtasks" not in line["path"]
    ]
    assert len(details) == len(set(details))
    assert json.loads((tmp_path / "case/scenario.json").read_text())["version"] == "1.20.5"


def test_no_secret_is_recorded(tmp_path: Path) -> None:
    base = recorded("1.20.5/E")

    def leaking(path: str, headers: dict[str, str]) -> Reply:
        if path == "/jobmanager/config":
            return told(
                [
                    {"key": "s3.secret-key", "value": "canary-key"},
                    {"key": "rest.url", "value": "http://u:canary-key@h/"},
                ]
            )
        if path.endswith("/exceptions"):
            return told(
                {
                    "root-exception": (
                        f"failed with password=canary-key as {headers['Authorization']}"
                    ),
                    "timestamp": 1,
                }
            )
        if path.endswith("/config") and "/jobs/" in path and "checkpoints" not in path:
            return told(
                {
                    "jid": "x",
                    "execution-config": {
                        "user-config": {"anything": "canary-key"},
                        "restart-strategy": "none",
                    },
                }
            )
        return base(path, headers)

    (tmp_path / "jm.log").write_text(
        "2026-11-21 04:05:00,000 INFO  org.apache.flink.X [] - using token: canary-key, "
        "canary-secret\n"
    )
    source = {
        "auth": Auth("basic", "canary-secret", "ops"),
        "logs": LogSource((str(tmp_path / "*.log"),)),
    }
    recording_of(leaking, tmp_path / "case", **source)
    written = b"".join(
        path.read_bytes() for path in (tmp_path / "case").rglob("*") if path.is_file()
    )
    assert (
        b"canary" not in written and b"Y2FuYXJ5" not in written and b"restart-strategy" in written
    )


def test_no_spelling_of_a_secret_is_recorded(tmp_path: Path) -> None:
    """In the answers of a cluster, whatever field they stand in, and in its logs, whatever a poll
    cuts through.
    """
    base = recorded("1.20.5/E")

    def leaking(path: str, headers: dict[str, str]) -> Reply:
        if path == "/jobmanager/config":
            return told(
                [
                    {"key": f"metrics.reporter.{number}", "value": one.text}
                    for number, one in enumerate(SPELLINGS)
                ]
            )
        if path.endswith("/exceptions"):
            return told(
                {
                    "root-exception": "\n".join(one.text for one in SPELLINGS),
                    "all-exceptions": [vars_of(SPELLINGS)],
                }
            )
        if path.endswith("/config") and "/jobs/" in path and "checkpoints" not in path:
            texts = {one.name: one.text for one in SPELLINGS}
            return told(
                {
                    "jid": "x",
                    "execution-config": {
                        "user-config": texts,
                        "restart-strategy": "none",
                        "other": texts,
                    },
                }
            )
        return base(path, headers)

    (tmp_path / "jm.log").write_text(
        "".join(
            f"2026-11-21 04:05:00,000 INFO  org.apache.flink.X [] - \n{one.text}\n"
            for one in SPELLINGS
        )
    )
    recording_of(leaking, tmp_path / "case", logs=LogSource((str(tmp_path / "*.log"),)))
    for path in (tmp_path / "case").rglob("*"):
        written = path.read_text() if path.is_file() else ""
        for one in SPELLINGS:
            assert not one.leaks_in(written), path
            assert not one.leaks_in(written.replace("\\\\", "\\").replace('\\"', '"')), path
    assert "restart-strategy" in (tmp_path / "case/rest.jsonl").read_text()


def vars_of(spellings: list[Spelling]) -> dict[str, str]:
    return {
        "exception": " | ".join(one.text for one in spellings if "\n" not in one.text),
        "task": "t",
        "location": "host:1",
    }


@pytest.mark.parametrize("cut_at", [1, 7, 100, 4_000])
def test_a_log_is_recorded_without_them_wherever_a_poll_cuts_it(
    tmp_path: Path, cut_at: int
) -> None:
    lines = b"".join(
        f"2026-11-21 04:05:00,000 INFO  X - \n{one.text}\n".encode() for one in SPELLINGS
    ).splitlines(keepends=True)
    log = MaskedLog(NOWHERE)
    written = b"".join(
        log.masked(b"".join(lines[at : at + cut_at])) for at in range(0, len(lines), cut_at)
    ).decode()
    assert not [one.name for one in SPELLINGS if one.leaks_in(written)]


def test_an_honest_log_is_recorded_to_the_byte(tmp_path: Path) -> None:
    content = "".join(f"{text}\n" for text in HONEST).encode() + b"\xff\xfe\x00 binary\r\n"
    assert MaskedLog(NOWHERE).masked(content) == content


def test_a_folder_that_holds_a_recording_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "rest.jsonl").write_text("precious")
    with pytest.raises(Refused, match="holds a recording already"):
        recording_of(recorded("1.20.5/B"), tmp_path)
    assert (tmp_path / "rest.jsonl").read_text() == "precious"


def test_a_recording_ends_at_its_bound(tmp_path: Path) -> None:
    summary = recording_of(recorded("1.20.5/B"), tmp_path / "case", seconds=60, max_bytes=100_000)
    assert summary.stopped_by == "size" and (tmp_path / "case/rest.jsonl").stat().st_size < 200_000
    assert imported(tmp_path / "case", tmp_path / "lake").records


def test_a_cluster_that_is_gone_still_leaves_its_logs(tmp_path: Path) -> None:
    source = ClusterSource(
        "x", "http://127.0.0.1:9", logs=LogSource((str(RECORDINGS / "1.20.5/E/logs/*.log"),))
    )
    at = _ticking().__next__
    summary = asyncio.run(
        record(
            source, tmp_path / "case", seconds=0, every_s=3, max_bytes=10**9, at=at, gate=Gate(0.01)
        )
    )
    assert (
        summary.error
        and imported(tmp_path / "case", tmp_path / "lake").records["log_records"] > 100
    )


def test_logs_come_over_the_endpoint_where_no_glob_is_given(tmp_path: Path) -> None:
    line = b"2026-11-21 04:05:00,000 WARN  org.apache.flink.X [] - hello\n"
    base = recorded("1.20.5/B")

    def answer(path: str, headers: dict[str, str]) -> Reply:
        if path == "/jobmanager/logs":
            return told({"logs": [{"name": "jm.log", "size": len(line)}]})
        return Reply(line) if path == "/jobmanager/logs/jm.log" else base(path, headers)

    recording_of(answer, tmp_path / "case")
    assert (tmp_path / "case/logs/jm.log").read_bytes() == line


def test_growing_and_rolled_logs_are_copied_without_a_gap(tmp_path: Path) -> None:
    log, folder = tmp_path / "jm.log", tmp_path / "copies"
    copies = LogCopies((str(tmp_path / "*.log*"),), folder, NOWHERE, 10**9)
    log.write_bytes(b"first " * 100 + b"\nsecond\nto")
    copies.copy_new()
    with log.open("ab") as out:
        out.write(b"rn\nthird\n")
    copies.copy_new()
    log.rename(tmp_path / "jm.log.1")
    log.write_bytes(b"fresh " * 100 + b"\n")
    copies.copy_new()
    copies.close()
    kept = b"".join(path.read_bytes() for path in folder.glob("*"))
    assert b"torn\n" in kept and b"third\n" in kept and b"fresh" in kept
    assert (folder / "jm.log").read_bytes().startswith(b"fresh")


def test_packed_logs_are_unpacked_so_that_secrets_in_them_are_masked(tmp_path: Path) -> None:
    (tmp_path / "jm.log.2.gz").write_bytes(gzip.compress(b"password=canary\n\xff\x00binary\n"))
    copies = LogCopies((str(tmp_path / "*.gz"),), tmp_path / "copies", NOWHERE, 10**9)
    copies.copy_new()
    assert (tmp_path / "copies/jm.log.2").read_bytes() == b"password=******\n\xff\x00binary\n"


def test_two_hosts_with_logs_of_the_same_name_are_kept_apart(tmp_path: Path) -> None:
    for host in ("a", "b"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "tm.log").write_text(f"{host}\n")
    LogCopies((str(tmp_path / "[ab]/*.log"),), tmp_path / "copies", NOWHERE, 10**9).copy_new()
    assert sorted(path.read_text() for path in (tmp_path / "copies").rglob("*.log")) == [
        "a\n",
        "b\n",
    ]


def test_masking_keeps_the_shape() -> None:
    body = {
        "a": [1, None, "x"],
        "key": "taskmanager.memory.size",
        "value": "1g",
        "nested": {"password": "p", "n": 2.5},
    }
    assert masked(body, NOWHERE) == {**body, "nested": {"password": "******", "n": 2.5}}
