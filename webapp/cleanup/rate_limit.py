"""Limits files per second: a clean-up is never urgent, and storage has other users."""

import time
from collections.abc import Callable


class RateLimit:
    """An even pace without bursts after delays. ``files_per_s`` is None for no limit."""

    def __init__(
        self,
        files_per_s: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._step_s = 1 / files_per_s if files_per_s else 0.0
        self._clock, self._sleep = clock, sleep
        self._next = clock()

    def batch_size(self, most: int) -> int:
        """At most ``most`` files, and at most as many as one second allows."""
        return max(min(most, int(1 / self._step_s)), 1) if self._step_s else most

    def step(self, files: int = 1) -> None:
        wait = self._next - self._clock()
        if wait > 0:
            self._sleep(wait)
        self._next = max(self._next, self._clock()) + self._step_s * files
