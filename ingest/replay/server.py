import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from aiohttp import web

from ingest.replay.player import Player
from ingest.replay.shipped import AUDITED, LOOKED, REMOVED

TICK_S = 1.0
AWAKE_FOR_S = 900

log = logging.getLogger(__name__)


async def serve(
    players: dict[str, Player], ports: Sequence[int], folder: Path, stop: asyncio.Event
) -> None:
    application = web.Application()
    application.router.add_get("/{cluster}/{path:.*}", make_handler(players))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        for port in ports:
            await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
        while not stop.is_set():
            if (folder / REMOVED).exists():
                _remove(players, folder)
            awake = time.time() - _looked_s(folder / LOOKED) < AWAKE_FOR_S
            writes = (folder / AUDITED).exists()
            for name, player in players.items():
                _tick(name, player, awake, writes)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TICK_S)
    finally:
        await runner.cleanup()


def make_handler(
    players: Mapping[str, Player],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        player = players.get(request.match_info["cluster"])
        if player is None or not player.turns:
            return web.json_response({"errors": ["no such cluster"]}, status=404)
        query = f"?{request.query_string}" if request.query_string else ""
        status, body = player.answer(f"/{request.match_info['path']}{query}", _now_ms())
        return web.Response(body=body, status=status, content_type="application/json")

    return answer


def _tick(name: str, player: Player, awake: bool, writes: bool) -> None:
    try:
        player.tick(_now_ms(), awake=awake, writes_checkpoints=writes)
    except OSError:
        log.exception("logs or checkpoints of %s cannot be written", name)


def _remove(players: dict[str, Player], folder: Path) -> None:
    for name in players:
        shutil.rmtree(folder / name, ignore_errors=True)
    players.clear()


def _looked_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()


def _now_ms() -> int:
    return round(time.time() * 1000)
