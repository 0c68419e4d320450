import logging
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import SystemRandom
from typing import Any, Protocol

from django.db import Error, connection, transaction
from django.db.models import Case, F, Q, QuerySet, When
from django.utils import timezone

logger = logging.getLogger(__name__)


def new_holder() -> str:
    """A name for the holder of a new claim by this process; unique per call."""
    pid = os.getpid()
    return f"{_machine()}/{pid}/{_start_time(pid)}/{secrets.token_hex(8)}"


def is_dead(holder: str) -> bool:
    """Whether the holder ran on this machine, in this PID namespace, and has ended. False if in
    doubt.
    """
    parts = holder.split("/")
    if len(parts) < 3:
        return False
    machine, pid, start_time = parts[:3]
    if machine != _machine() or not pid.isdigit() or not start_time:
        return False
    return _start_time(int(pid)) != start_time


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').readlink().name}".replace("/", "_")
    except OSError:
        return f"unknown:{secrets.token_hex(8)}"


def _start_time(pid: int) -> str:
    """The start of a process in clock ticks after boot; empty if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    is_zombie = fields[0] == "Z"
    return "" if is_zombie else fields[19]


def recheck_connection() -> None:
    """Let Django replace a connection that was lost during a Spark job."""
    if not connection.in_atomic_block:
        connection.health_check_done = False  # type: ignore[attr-defined]  # stubs lack it


LONGEST_BACKOFF = timedelta(minutes=15)
SOON_S = 60


class LeaseLost(Exception):
    """Another holder took the work over: the former holder may not write any more."""


class WriteGuard(Protocol):
    """A held lease, or a stand-in whose transactions are unguarded."""

    def writing(self) -> AbstractContextManager[None]: ...


@dataclass(frozen=True)
class Lease:
    """A claim of the row ``key``. ``fence`` is the number of the claim: the lease is valid while
    the row has the same number. ``rows``: all rows of due work.
    """

    key: str
    fence: int
    interval_s: int
    length: timedelta
    rows: QuerySet[Any] = field(repr=False, compare=False)

    def renew(self) -> None:
        if not self._row().update(lease_until=timezone.now() + self.length):
            raise LeaseLost(f"{self.key} was taken over by another process.")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that commits only under this lease.

        The row is updated first, which locks it on PostgreSQL, and the database on SQLite: no other
        holder can take over before the commit, and after a take-over nothing is committed.
        """
        recheck_connection()
        with transaction.atomic():
            self.renew()
            yield

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        """Renew from a thread while the body waits for something long.

        A lost lease shows at the next guarded write.
        """
        stop = threading.Event()

        def keep() -> None:
            pause_s = third_s = self.length.total_seconds() / 3
            try:
                while not stop.wait(pause_s):
                    try:
                        self.renew()
                        pause_s = third_s
                    except LeaseLost:
                        return
                    except Error as error:
                        logger.warning("%s could not be renewed: %s", self.key, error)
                        connection.close()
                        pause_s = third_s / 10
            finally:
                connection.close()

        keeper = threading.Thread(target=keep, name=f"lease of {self.key}", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            stop.set()
            keeper.join()

    def complete(self, now: datetime, *, next_attempt_at: datetime | None = None) -> bool:
        """Give the work back as done; False if another holder had taken it over. If it was requested
        meanwhile, it is due at the requested time.
        """
        recheck_connection()
        due_at = next_attempt_at or now + timedelta(seconds=self.interval_s)
        is_requested = Q(next_attempt_at__gt=F("last_started_at"), next_attempt_at__lt=due_at)
        updated = self._row().update(
            lease_until=None,
            leased_by=None,
            last_finished_at=now,
            last_success_at=now,
            next_attempt_at=Case(When(is_requested, then=F("next_attempt_at")), default=due_at),
            failures=0,
            last_error=None,
        )
        return bool(updated)

    def fail(self, now: datetime, error: str, *, soon: bool = False) -> bool:
        """Give the work back as failed; False if another holder had taken it over. ``soon``: try
        again within a minute, since the cause was not the work itself.
        """
        recheck_connection()
        interval_s = min(self.interval_s, SOON_S) if soon else self.interval_s
        with transaction.atomic():
            row = self._row().select_for_update().first()
            if row is None:
                return False
            failures = row.failures + 1
            self._row().update(
                lease_until=None,
                leased_by=None,
                last_finished_at=now,
                next_attempt_at=now + backoff(interval_s, failures),
                failures=failures,
                last_error=error,
            )
        return True

    def _row(self) -> Any:
        return self.rows.filter(key=self.key, fence=self.fence)


def backoff(interval_s: int, failures: int) -> timedelta:
    """The interval, doubled with every failure after the first; at most 15 minutes or the interval;
    with jitter.
    """
    longest_s = max(LONGEST_BACKOFF.total_seconds(), interval_s)
    delay_s = min(interval_s * 2 ** min(failures - 1, 16), longest_s)
    return timedelta(seconds=delay_s * SystemRandom().uniform(0.75, 1))
