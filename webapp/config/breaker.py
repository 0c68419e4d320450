"""A circuit breaker: a service that did not answer is not called for a while."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TIMEOUT_S = 0.3
SLOW_S = 0.5
OPEN_S = 3.0

logger = logging.getLogger(__name__)


class Breaker:
    """``warning``: what the log says when the breaker opens."""

    def __init__(self, warning: str) -> None:
        self._warning = warning
        self._lock = threading.Lock()
        self._opened_at: float | None = None

    def allows(self) -> bool:
        """Whether to call now; while the breaker is open, one call every three seconds."""
        with self._lock:
            if self._opened_at is None:
                return True
            now = time.monotonic()
            if now - self._opened_at < OPEN_S:
                return False
            self._opened_at = now
            return True

    @contextmanager
    def watching(self) -> Iterator[None]:
        """For an allowed call: if it is slow or fails, the breaker opens."""
        began = time.monotonic()
        try:
            yield
        except Exception:
            self.open()
            raise
        if time.monotonic() - began > SLOW_S:
            self.open()
        else:
            self.close()

    def close(self) -> None:
        self._opened_at = None

    def open(self) -> None:
        with self._lock:
            if self._opened_at is None:
                logger.warning(self._warning)
            self._opened_at = time.monotonic()


redis = Breaker(
    "Redis does not answer in time; for a while nothing is asked of it. Work is delayed, not lost."
)
