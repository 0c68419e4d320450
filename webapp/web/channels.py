"""Connections whose clients are slow, silent or many: bounded in time and number.

waitress hands a request to a thread only when all of it is there, so a half-open one costs a socket and no thread. Its own
time-out begins anew with every byte, so a client that trickles would keep its connection for ever, and at its limit of
connections nobody else gets one. So time is counted for whole requests here, and the one that waited longest is closed for a new one.
"""

import time
from collections import Counter
from collections.abc import Collection
from typing import Any

from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer

REQUEST_WITHIN_S = 20.0
"""From its first byte to its last; larger ones have longer."""
LEAST_BYTES_PER_S = 4096
"""What a client has to send or to take, once there is something to send or to take."""
IDLE_S = 60.0
"""Between two requests, and before the first one."""
STALLED_S = 20.0
LOOKS_EVERY_S = 0.5


class BoundedChannel(HTTPChannel):
    """One connection. ``begun_at`` is when the first byte came of what is not a complete request yet."""

    begun_at: float | None = None
    begun_bytes = 0
    sent_bytes = 0
    _taking: tuple[float, int] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        self.waits_since = time.monotonic()
        super().__init__(*args, **options)

    @property
    def is_served(self) -> bool:
        """It has a complete request, which a thread is at or will be."""
        return bool(self.requests)

    def received(self, data: bytes) -> bool:
        if self.begun_at is None:
            self.begun_at = time.monotonic()
        self.begun_bytes += len(data)
        return bool(super().received(data))

    def service(self) -> None:
        super().service()
        now = time.monotonic()
        self.waits_since, self.begun_bytes = now, 0
        self.begun_at = now if self.request is not None else None

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent = int(super().send(data, do_close))
        self.sent_bytes += sent
        return sent

    def is_overdue(self, now: float) -> bool:
        return self._takes_too_little(now) or (not self.is_served and not self.total_outbufs_len and self._sends_too_little(now))

    def _sends_too_little(self, now: float) -> bool:
        if self.begun_at is None:
            return now > self.waits_since + IDLE_S
        return now > self.begun_at + REQUEST_WITHIN_S + self.begun_bytes / LEAST_BYTES_PER_S

    def _takes_too_little(self, now: float) -> bool:
        if not self.total_outbufs_len:
            self._taking = None
            return False
        if self._taking is None:
            self._taking = (now, self.sent_bytes)
        since, sent = self._taking
        if now - since < STALLED_S:
            return False
        self._taking = (now, self.sent_bytes)
        return self.sent_bytes - sent < STALLED_S * LEAST_BYTES_PER_S


class BoundedServer(TcpWSGIServer):
    """Accepts always; :meth:`enforce` is to be called between two rounds of its loop, in the loop's thread."""

    channel_class = BoundedChannel
    _looks_again_at = 0.0

    def maintenance(self, now: float) -> None:
        """Nothing: :meth:`enforce` knows better."""

    def enforce(self, most_connections: int) -> None:
        now = time.monotonic()
        if now >= self._looks_again_at:
            self._looks_again_at = now + LOOKS_EVERY_S
            for channel in list(self.active_channels.values()):
                if channel.is_overdue(now):
                    channel.handle_close()
        excess = len(self.active_channels) - most_connections
        if excess > 0:
            # Some more than must be: the next newcomers then cost nobody a look at all of them.
            for channel in _first_to_go(self.active_channels.values())[: excess + most_connections // 20]:
                channel.handle_close()


def _first_to_go(channels: Collection[BoundedChannel]) -> list[BoundedChannel]:
    """Those without a complete request: of the address with most connections first, the longest waiting first; then the others."""
    held = Counter(channel.addr[0] for channel in channels)
    return sorted(channels, key=lambda channel: (channel.is_served, -held[channel.addr[0]], channel.waits_since))
