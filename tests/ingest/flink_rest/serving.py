"""A small HTTP server on loopback that answers as told, also in all the ways a server should not."""

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.replayed import Replay


@dataclass(frozen=True)
class Reply:
    """``body`` is sent in ``pieces`` with ``pause_s`` before each; ``hang`` never answers;
    ``length`` lies about the size.
    """

    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause_s: float = 0
    pieces: int = 1
    hang: bool = False
    length: int | None = None
    close: bool = False


def told(document: Any, status: int = 200) -> Reply:
    """A JSON answer."""
    return Reply(json.dumps(document).encode(), status, {"content-type": "application/json"})


Answer = Callable[[str, dict[str, str]], Reply]


class Server:
    """``answer(path, request headers)`` decides; ``asked`` keeps all paths, ``most_at_once`` the
    peak of open requests.
    """

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._answer, self._tls = answer, tls
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.sent_bytes = 0
        self.most_at_once = self._at_once = 0
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server
        return (
            f"http{'s' if self._tls else ''}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        )

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.current_task()
        assert talk
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().split("\r\n")
                path = lines[0].split(" ")[1]
                headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
                self.asked.append(path)
                self.headers.append(headers)
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
                try:
                    await self._send(self._answer(path, headers), writer)
                finally:
                    self._at_once -= 1
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        if reply.hang:
            await asyncio.sleep(3600)
        headers = {
            "content-length": str(len(reply.body) if reply.length is None else reply.length),
            **reply.headers,
        }
        head = (
            f"HTTP/1.1 {reply.status} X\r\n"
            + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            + "\r\n"
        )
        writer.write(head.encode())
        step = max(1, -(-len(reply.body) // reply.pieces))
        for start in range(0, len(reply.body), step):
            await asyncio.sleep(reply.pause_s)
            writer.write(reply.body[start : start + step])
            await writer.drain()
            self.sent_bytes += step
        if reply.close:
            raise ConnectionResetError


def recorded(recording: str, at: float | None = None, **overrides: Reply) -> Answer:
    """Answers of a recording; ``overrides`` are by a part of the path."""
    replay = _replay(recording)
    moment = at if at is not None else (replay.first_at + replay.last_at) / 2

    def answer(path: str, headers: dict[str, str]) -> Reply:
        for part, reply in overrides.items():
            if part in path:
                return reply
        status, body = replay.answer(path, moment)
        return told(body, status)

    return answer


_loaded: dict[str, Replay] = {}


def _replay(recording: str) -> Replay:
    if recording not in _loaded:
        _loaded[recording] = Replay(recording)
    return _loaded[recording]
