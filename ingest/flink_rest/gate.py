"""Limits requests to one JobManager: its REST endpoint uses the JobManager's memory and threads."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from ingest.flink_rest.address import parse_address

REQUESTS_AT_ONCE = 2
SAME_PATH_PAUSE_S = 3.0


class Gate:
    """Lets two requests through at once, and the same path not more often than every three
    seconds.
    """

    def __init__(self, same_path_pause_s: float = SAME_PATH_PAUSE_S) -> None:
        self.same_path_pause_s = same_path_pause_s
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._last_request: dict[str, float] = {}
        self._forget_at = 2_000

    @contextlib.asynccontextmanager
    async def turn(self, path: str) -> AsyncIterator[None]:
        # - time itself is waited for; another waiter may have gone first
        while (wait_s := self._wait_s(path)) > 0:  # noqa: ASYNC110
            await asyncio.sleep(wait_s)
        self._last_request[path] = time.monotonic()
        self._forget_old()
        async with self._slots:
            try:
                yield
            finally:
                self._last_request[path] = time.monotonic()

    def _wait_s(self, path: str) -> float:
        last = self._last_request.get(path)
        return 0.0 if last is None else last + self.same_path_pause_s - time.monotonic()

    def _forget_old(self) -> None:
        if len(self._last_request) < self._forget_at:
            return
        oldest = time.monotonic() - self.same_path_pause_s
        self._last_request = {path: at for path, at in self._last_request.items() if at > oldest}
        self._forget_at = 2 * len(self._last_request) + 2_000


class Gates:
    """The gates of a collecting process, one for each scheme, host and port."""

    def __init__(self, same_path_pause_s: float = SAME_PATH_PAUSE_S) -> None:
        self._pause_s = same_path_pause_s
        self._gates: dict[str, Gate] = {}

    def of(self, url: str) -> Gate:
        return self._gates.setdefault(parse_address(url, None).origin, Gate(self._pause_s))
