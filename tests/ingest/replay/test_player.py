"""A recording that is played: as its JobManager would answer now, turn after turn, read through the
collector's own door.
"""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ingest.errors import Refused
from ingest.flink_rest.collector import collect_cluster
from ingest.replay.player import GAP_MS, TURNS_KEPT, Player
from ingest.replay.server import make_handler
from ingest.replay.shipped import SHIPPED, recordings
from ingest.replay.tape import Tape, line_ms
from ingest.sources import ClusterSource
from webapp.launch.home import free_port

NOW_MS = 1_800_000_000_000
RECORDING = recordings() / "1.20.5" / "E"
NAMES = {"lab-E-decline": "payments-enrich"}


@pytest.fixture(scope="module")
def tape() -> Tape:
    return Tape(RECORDING)


def jobs(player: Player, now_ms: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(player.answer("/jobs/overview", now_ms)[1])["jobs"]
    return found


def written(player_folder: Path) -> list[bytes]:
    return [
        line
        for log in sorted((player_folder / "logs").iterdir())
        for line in log.read_bytes().splitlines()
    ]


def test_a_new_cluster_has_a_job_that_runs_and_one_that_ended(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    player.tick(NOW_MS)
    ended, running = jobs(player, NOW_MS)
    assert (ended["state"], running["state"]) == ("CANCELED", "RUNNING")
    assert ended["name"] == running["name"] == "payments-enrich"
    assert ended["jid"] != running["jid"]
    assert ended["start-time"] < ended["last-modification"] < running["start-time"] < NOW_MS


def test_turn_follows_turn_and_the_last_ones_are_remembered(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    seen: set[str] = set()
    for turn in range(TURNS_KEPT + 2):
        now_ms = NOW_MS + turn * (tape.length_ms + GAP_MS)
        player.tick(now_ms)
        listed = jobs(player, now_ms)
        assert len(listed) <= TURNS_KEPT
        assert sum(job["state"] == "RUNNING" for job in listed) == 1
        seen |= {job["jid"] for job in listed}
    assert len(seen) == TURNS_KEPT + 3


def test_a_player_that_is_made_again_goes_on_with_the_same_jobs(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    player.tick(NOW_MS)
    again = Player(tape, NAMES, tmp_path)
    again.tick(NOW_MS + 1000)
    assert [job["jid"] for job in jobs(again, NOW_MS + 1000)] == [
        job["jid"] for job in jobs(player, NOW_MS + 1000)
    ]


def test_nothing_is_submitted_while_nobody_looks(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    player.tick(NOW_MS)
    tomorrow_ms = NOW_MS + 86_400_000
    player.tick(tomorrow_ms, awake=False)
    assert {job["state"] for job in jobs(player, tomorrow_ms)} == {"CANCELED"}
    player.tick(tomorrow_ms)
    submitted = [
        job["start-time"]
        for job in jobs(player, tomorrow_ms + 10_000)
        if job["state"] != "CANCELED"
    ]
    assert len(submitted) == 1
    assert abs(submitted[0] - tomorrow_ms) < GAP_MS


def test_lines_are_written_when_their_time_has_come_and_once(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    player.tick(NOW_MS)
    end_ms = player.turns[-1].began_ms + tape.length_ms + 2_000
    for now_ms in range(NOW_MS, end_ms, 7_000):
        player.tick(now_ms, awake=False)
        assert max(at for line in written(tmp_path) if (at := line_ms(line)) is not None) <= now_ms
    player.tick(end_ms, awake=False)
    own = [
        line for log in (tmp_path / "logs").glob("*.log") for line in log.read_bytes().splitlines()
    ]
    expected = sum(1 for log in tape.logs for _ in tape.lines(log, tape.began_ms - 5_000))
    assert len(own) == expected
    assert not any(
        b"lab-E-decline" in line or job_id.encode() in line for line in own for job_id in tape.jobs
    )


def test_metrics_are_answered_by_id_and_unknown_ones_left_out(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    player.tick(NOW_MS)
    job_id = jobs(player, NOW_MS)[-1]["jid"]
    vertex = json.loads(player.answer(f"/jobs/{job_id}", NOW_MS)[1])["vertices"][0]["id"]
    path = f"/jobs/{job_id}/vertices/{vertex}/metrics?get=0.buffers.outPoolUsage,1.buffers.outPoolUsage,0.noSuchMetric"
    status, body = player.answer(path, NOW_MS)
    assert (status, [one["id"] for one in json.loads(body)]) == (
        200,
        ["0.buffers.outPoolUsage", "1.buffers.outPoolUsage"],
    )


def test_a_job_of_nobody_is_not_found(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    player.tick(NOW_MS)
    assert player.answer(f"/jobs/{'f' * 32}/checkpoints", NOW_MS)[0] == 404


def test_a_folder_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        Tape(tmp_path)


def test_the_collector_reads_it_as_any_jobmanager(tape: Tape, tmp_path: Path) -> None:
    player = Player(tape, NAMES, tmp_path)
    at = datetime.now(UTC)
    player.tick(round(at.timestamp() * 1000))
    collected = asyncio.run(_collected(player))
    assert collected.reachable
    assert collected.jobs_seen == 2
    assert not collected.skips
    records = [record for part in collected.observed for record in part.records]
    kinds = {type(record).__name__ for record in records}
    assert {"Job", "Checkpoint", "VertexCheckpoint", "VertexMetrics", "TaskManager"} <= kinds
    declined = [
        one for one in records if type(one).__name__ == "Checkpoint" and one.status == "FAILED"
    ]
    assert {one.job_id for one in declined} == {
        job["jid"] for job in jobs(player, round(at.timestamp() * 1000))
    }


def test_every_shipped_recording_is_there_and_its_jobs_have_names() -> None:
    for one in SHIPPED:
        listed = set()
        for line in (recordings() / one.recording / "rest.jsonl").open():
            if '"path":"/jobs/overview"' in line:
                listed |= {job["name"] for job in json.loads(line)["body"]["jobs"]}
        assert listed == set(one.jobs), one.recording


async def _collected(player: Player) -> Any:
    application = web.Application()
    application.router.add_get("/{cluster}/{path:.*}", make_handler({"demo": player}))
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        return await collect_cluster(
            ClusterSource("demo", f"http://127.0.0.1:{port}/demo"), {}, lambda: datetime.now(UTC)
        )
    finally:
        await runner.cleanup()
