"""Many JobManagers out of one recording: each on its own port, with its own job ids, counting who
asks how much.

Runs as a process of its own, so that a bench measures the collector alone: ``python -m
tests.bench.simulated_jobmanagers RECORDING FIRST_PORT JOBMANAGERS JOBS``. Reads commands from
stdin, one a line: ``advance S`` moves the recorded time on, ``counts`` prints what was seen since
the last ``counts`` as JSON, end of input stops it.
"""

import asyncio
import json
import sys
from urllib.parse import urlsplit

from tests.replayed import Replay

HOST = "127.0.0.1"
ANSWER_AFTER_S = 0.002
"""A JobManager is not instant: answers are held this long, so that requests at once are really
seen.
"""


def job_id(jobmanager: int, job: int) -> str:
    """The id of one simulated job; 32 hex digits."""
    return f"{jobmanager:08x}{job:024x}"


class Fleet:
    """What all JobManagers share: recorded answers, encoded once per recorded time."""

    def __init__(self, recording: str, jobs: int) -> None:
        self.replay = Replay(recording)
        self.recorded_id = self.replay.job_ids[0]
        self.jobs = jobs
        self.at = self.replay.first_at + 35
        self.most_at_once = 0
        self.requests = 0
        self._encoded: dict[str, tuple[int, bytes]] = {}

    def advance(self, seconds: float) -> None:
        self.at += seconds
        self._encoded.clear()

    def response(self, jobmanager: int, path: str) -> bytes:
        """A whole HTTP response to ``path``, job ids those of this JobManager."""
        if path.startswith("/jobs/overview"):
            status, body = 200, self._overview(jobmanager)
        elif path.startswith("/jobs/"):
            asked = path[6:38]
            status, body = self._lookup(path.replace(asked, self.recorded_id, 1))
            body = body.replace(self.recorded_id.encode(), asked.encode())
        else:
            status, body = self._lookup(path)
        head = (
            f"HTTP/1.1 {status} X\r\ncontent-type: application/json; "
            f"charset=UTF-8\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def _lookup(self, path: str) -> tuple[int, bytes]:
        found = self._encoded.get(path)
        if found is None:
            status, body = self.replay.answer(path, self.at)
            found = self._encoded[path] = status, json.dumps(body, separators=(",", ":")).encode()
        return found

    def _overview(self, jobmanager: int) -> bytes:
        _, body = self.replay.answer("/jobs/overview", self.at)
        entry = json.dumps(body["jobs"][0])
        entries = (
            entry.replace(self.recorded_id, job_id(jobmanager, job)) for job in range(self.jobs)
        )
        return f'{{"jobs":[{",".join(entries)}]}}'.encode()


class JobManager(asyncio.Protocol):
    """One connection to one JobManager."""

    def __init__(self, fleet: Fleet, number: int, busy: list[int]) -> None:
        self.fleet, self.number, self.busy = fleet, number, busy
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            path = self.buffer.split(b" ", 2)[1].decode()
            self.buffer = self.buffer[end + 4 :]
            self.busy[0] += 1
            self.fleet.requests += 1
            self.fleet.most_at_once = max(self.fleet.most_at_once, self.busy[0])
            asyncio.get_running_loop().call_later(ANSWER_AFTER_S, self._answer, path)

    def _answer(self, path: str) -> None:
        self.busy[0] -= 1
        if self.transport and not self.transport.is_closing():
            self.transport.write(
                self.fleet.response(
                    self.number, urlsplit(path)._replace(scheme="", netloc="").geturl()
                )
            )


async def serve(recording: str, first_port: int, jobmanagers: int, jobs: int) -> None:
    loop = asyncio.get_running_loop()
    fleet = Fleet(recording, jobs)
    for number in range(jobmanagers):
        busy = [0]
        await loop.create_server(
            lambda number=number, busy=busy: JobManager(fleet, number, busy),
            HOST,
            first_port + number,
        )  # type: ignore[misc]
    print("ready", flush=True)
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().split():
        if line[0] == "advance":
            fleet.advance(float(line[1]))
            print("advanced", flush=True)
        elif line[0] == "counts":
            print(
                json.dumps({"requests": fleet.requests, "most_at_once": fleet.most_at_once}),
                flush=True,
            )
            fleet.requests = fleet.most_at_once = 0


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
