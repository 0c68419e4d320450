"""How much of a web process pushes may take: pages and other pushers need it, too. Each process
counts for itself.

What a body may hold is bounded (:mod:`ingest.pushed.bounds`), so one costs less than a second; this
bounds how many such bodies come.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ingest.errors import Retryable

WINDOW_S = 60
MAX_CPU_S = 30.0
"""Of all tokens in a window: some 600 MB of lines."""
MAX_CPU_S_OF_TOKEN = 15.0
MAX_AT_ONCE = 2
"""Half of the threads that a process has by default (``WEB_THREADS`` of ``make run``)."""
TURN_WITHIN_S = 0.5


Found = TypeVar("Found")


class Busy(Retryable):
    """The sender keeps what it has and sends it again after ``retry_after_s``."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Budget:
    """CPU time by token, of the present window of the clock; and the threads that read bodies.

    They have threads of their own since Python 3.11 takes memory from the system for each call at
    certain depths of the stack, which are met by chance below a request; a body makes a hundred
    thousand calls.
    """

    def __init__(self) -> None:
        self._threads, self._lock = ThreadPoolExecutor(MAX_AT_ONCE, "push"), threading.Lock()
        self._window, self._spent_s = 0, defaultdict[int, float](float)

    def spend(self, token: int, work: Callable[[], Found]) -> Found:
        """What ``work`` gives or raises; its time is counted.

        Raises :class:`Busy` where too much was done in this window, or is now.
        """
        self._check(token)
        begun = threading.Event()
        future = self._threads.submit(self._counted, token, work, begun)
        if not begun.wait(TURN_WITHIN_S) and future.cancel():
            raise Busy(f"{MAX_AT_ONCE} other pushes are being read.", 1)
        return future.result()

    def _counted(self, token: int, work: Callable[[], Found], begun: threading.Event) -> Found:
        begun.set()
        began_s = time.thread_time()
        try:
            return work()
        finally:
            with self._lock:
                self._spent_s[token] += time.thread_time() - began_s

    def _check(self, token: int) -> None:
        now_s = time.time()
        with self._lock:
            if (window := int(now_s // WINDOW_S)) != self._window:
                self._window, self._spent_s = window, defaultdict(float)
            of_token, of_all = self._spent_s[token], sum(self._spent_s.values())
        wait_s = math.ceil(WINDOW_S - now_s % WINDOW_S)
        if of_token > MAX_CPU_S_OF_TOKEN:
            raise Busy(
                f"What was pushed with this token took {of_token:.0f} s of CPU within a minute, "
                f"and at most {MAX_CPU_S_OF_TOKEN:.0f} s "
                "are given to one token; push less, or with several tokens.",
                wait_s,
            )
        if of_all > MAX_CPU_S:
            raise Busy(
                f"What was pushed took {of_all:.0f} s of CPU within a minute, and at most "
                f"{MAX_CPU_S:.0f} s are given to it.",
                wait_s,
            )


BUDGET = Budget()
