"""Reads the endpoints of all clusters of a shard at once, on an event loop in another thread. The
caller reads files and commits meanwhile.
"""

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, Self, TypeVar

Run = TypeVar("Run")

GROUP_S = 3.0
"""Clusters finished within this time are one commit: a commit takes tenths of a second."""
MOST_OF_THE_TIME = 0.1
"""Largest share of time for commits; if they are slow, groups get larger."""
LONGEST_GROUP_S = 10.0
STRAGGLER_FACTOR = 2
STALL_CHECK_S = 0.25


class Stall:
    """Measures how long the event loop did not run: time-outs then say nothing of a cluster."""

    def __init__(self) -> None:
        self._stalls: list[tuple[float, float]] = []
        self._asleep_since = time.monotonic()

    async def watch(self) -> None:
        while True:
            self._asleep_since = time.monotonic()
            await asyncio.sleep(STALL_CHECK_S)
            self._stalls += self._current()

    def total_s_since(self, since: float) -> float:
        # After a stall, the caller may run before ``watch`` does.
        return sum(
            max(0.0, min(late_s, ended - since))
            for ended, late_s in (*self._stalls, *self._current())
        )

    def _current(self) -> list[tuple[float, float]]:
        now = time.monotonic()
        late_s = now - self._asleep_since - STALL_CHECK_S
        return [(now, late_s)] if late_s > STALL_CHECK_S else []


class ShardReading(Generic[Run]):
    def __init__(
        self,
        runs: Sequence[Run],
        read: Callable[[Run, Stall], Awaitable[None]],
        stragglers_after_s: float | None = None,
    ) -> None:
        self._runs, self._read, self._stragglers_after_s = runs, read, stragglers_after_s
        self._done: queue.SimpleQueue[Run | BaseException | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,
            args=(self._run,),
            name="endpoints of a shard",
            daemon=True,
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_raised: object) -> None:
        if kind is not None and self._loop is not None and self._task is not None:
            try:
                self._loop.call_soon_threadsafe(self._task.cancel)
            except RuntimeError:
                return  # it has just ended
        self._thread.join()

    def groups(self) -> Iterator[list[Run]]:
        """Finished runs, in groups for one commit each. Raises what the reading raised."""
        group: list[Run] = []
        since, wait_s = time.monotonic(), GROUP_S
        while True:
            left_s = since + wait_s - time.monotonic()
            try:
                # Without a group there is nothing to commit: wait for the first cluster.
                finished = self._done.get(timeout=max(0.0, left_s) if group else None)
            except queue.Empty:
                began = time.monotonic()
                yield group
                group, since = [], time.monotonic()
                wait_s = min(max(GROUP_S, (since - began) / MOST_OF_THE_TIME), LONGEST_GROUP_S)
                continue
            if isinstance(finished, BaseException):
                raise finished
            if finished is None:
                break
            group.append(finished)
        if group:
            yield group

    def _run(self) -> None:
        try:
            asyncio.run(self._read_all())
        except BaseException as error:
            self._done.put(error)
        else:
            self._done.put(None)

    async def _read_all(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        stall, began = Stall(), time.monotonic()
        watch_task = asyncio.create_task(stall.watch())
        tasks = {asyncio.create_task(self._read_one(run, stall)) for run in self._runs}
        finished_after_s: list[float] = []
        try:
            while tasks:
                left_s = self._remaining_s(finished_after_s, began, stall)
                done, tasks = await asyncio.wait(
                    tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    task.result()
                    finished_after_s.append(time.monotonic() - began)
                if not done and self._remaining_s(finished_after_s, began, stall) == 0:
                    break
        finally:
            for task in (watch_task, *tasks):
                task.cancel()
            await asyncio.gather(watch_task, *tasks, return_exceptions=True)

    def _remaining_s(
        self, finished_after_s: Sequence[float], began: float, stall: Stall
    ) -> float | None:
        """How long unfinished clusters may still take, without stalls. None, for no limit, until
        half of the clusters have finished.
        """
        half = (len(self._runs) + 1) // 2
        if self._stragglers_after_s is None or len(finished_after_s) < half:
            return None
        limit_s = max(self._stragglers_after_s, STRAGGLER_FACTOR * finished_after_s[half - 1])
        return max(0.0, began + limit_s + stall.total_s_since(began) - time.monotonic())

    async def _read_one(self, run: Run, stall: Stall) -> None:
        await self._read(run, stall)
        self._done.put(run)
