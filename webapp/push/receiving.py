import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any, TypeVar

from django.core.cache import cache
from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone

from ingest.errors import IngestError, Retryable
from ingest.messages import count_text
from ingest.pushed.bodies import unpacked
from ingest.pushed.bounds import MAX_PROCESSES, Count
from ingest.pushed.entries import Entry
from ingest.pushed.metrics_spool import MetricsSpool
from ingest.pushed.spool import REMEMBERED_LINES, Behind, Spool, Taken
from ingest.records import Skip
from webapp.fleet.models import Cluster
from webapp.fleet.pipeline_status import disk_budget
from webapp.fleet.pushed_logs import metrics_spool_of, spool_of
from webapp.push.models import PushToken
from webapp.work.hints import hint
from webapp.work.keys import COLLECT_SLOW, CYCLE, collect_key
from webapp.work.models import DueWork
from webapp.work.registry import work_of

WINDOW_S = 60
MAX_CPU_S = 30.0
"""CPU time of all tokens in a window: enough for about 600 MB of lines."""
MAX_CPU_S_OF_TOKEN = 15.0
MAX_AT_ONCE = 2
"""Half of the default ``WEB_THREADS``."""
TURN_WITHIN_S = 0.5
LEAST_REST = timedelta(seconds=2)
"""Between two, however often failures are pushed."""
ResultT = TypeVar("ResultT")


class Busy(Retryable):
    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Budget:
    """Limits the CPU time of pushes by token. Bodies are read in own threads: deep in the stack of
    a request, Python 3.11 may allocate system memory for each of a hundred thousand calls.
    """

    def __init__(self) -> None:
        self._threads, self._lock = ThreadPoolExecutor(MAX_AT_ONCE, "push"), threading.Lock()
        self._window, self._spent_s = 0, defaultdict[int, float](float)

    def spend(self, token: int, work: Callable[[], ResultT]) -> ResultT:
        """Raises :class:`Busy` if the budget of the window is used, or too many pushes are read."""
        self._check(token)
        started = threading.Event()
        future = self._threads.submit(self._count, token, work, started)
        if not started.wait(TURN_WITHIN_S) and future.cancel():
            raise Busy(f"{MAX_AT_ONCE} other pushes are being read.", 1)
        return future.result()

    def _count(self, token: int, work: Callable[[], ResultT], started: threading.Event) -> ResultT:
        started.set()
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
            token_s, total_s = self._spent_s[token], sum(self._spent_s.values())
        wait_s = math.ceil(WINDOW_S - now_s % WINDOW_S)
        if token_s > MAX_CPU_S_OF_TOKEN:
            raise Busy(
                f"What was pushed with this token took {token_s:.0f} s of CPU within a minute, "
                f"and at most {MAX_CPU_S_OF_TOKEN:.0f} s "
                "are given to one token; push less, or with several tokens.",
                wait_s,
            )
        if total_s > MAX_CPU_S:
            raise Busy(
                f"What was pushed took {total_s:.0f} s of CPU within a minute, and at most "
                f"{MAX_CPU_S:.0f} s are given to it.",
                wait_s,
            )


BUDGET = Budget()


if TYPE_CHECKING:
    from ingest.pushed.otlp_metrics import Pushed  # of the extra otlp

ROOM_FOR_S = 5
"""How often the size of waiting data is checked; in between, pushes have no limit."""
LEAST_REMEMBERED_LINES = 1_000
"""Per process, for the check of repeated lines. With few processes, more lines are remembered; but a
body may have hundreds of processes, and the check of a line takes 0.2 µs.
"""

NOTHING = Taken(0, 0)

Reader = Callable[[bytes], Iterator[Entry | Skip]]


@dataclass
class Received:
    """``skipped``: number of records that are no log lines; ``problem``: what is wrong with the
    first. ``tells_failure``: a line is Flink's report of one.
    """

    taken: Taken = NOTHING
    skipped: int = 0
    problem: str = ""
    tells_failure: bool = False


def receive(token: PushToken, body: IO[bytes] | None, encoding: str, read: Reader) -> Received:
    """Lines of a repeated body are stored once. Raises the errors of ``Budget.spend``,
    ``unpacked``, ``read`` and the spool.
    """
    received = _receive(
        token,
        lambda: _spool_with_room(token.cluster),
        lambda spool: _store_lines(spool, read(unpacked(body, encoding) if body else b"")),
    )
    if received.tells_failure and received.taken.lines:
        with suppress(DatabaseError):
            _judge_soon(token.cluster)
    return received


def _judge_soon(cluster: Cluster) -> None:
    """Instead of after the intervals of collection and cycle; each rests for as long as it took."""
    collect = COLLECT_SLOW if cluster.slow_since else collect_key(cluster.shard)
    now = timezone.now()
    for row in DueWork.objects.filter(key__in=(collect, CYCLE), failures=0):
        rested_since, at = row.last_finished_at, now + LEAST_REST
        if not row.is_held(now) and rested_since and row.last_started_at:
            took = rested_since - row.last_started_at
            at = max(now, rested_since + max(LEAST_REST, took))
        if row.is_held(now) or row.next_attempt_at > at:
            DueWork.objects.filter(key=row.key).update(next_attempt_at=at)
            hint(work_of(row.key).task, row.key, at - now)


def receive_metrics(
    token: PushToken, body: IO[bytes] | None, encoding: str, read: "Callable[[bytes], Pushed]"
) -> Received:
    return _receive(
        token,
        lambda: metrics_spool_of(token.cluster.name),
        lambda spool: _store_samples(spool, read(unpacked(body, encoding) if body else b"")),
    )


def _receive(
    token: PushToken, open_spool: Callable[[], ResultT], store: Callable[[ResultT], Received]
) -> Received:
    try:
        if why := disk_budget.why_stopped():
            raise Behind(why)
        spool = open_spool()
        received = BUDGET.spend(token.pk, lambda: store(spool))
    except IngestError as error:
        _record(token, Received(problem=str(error)))
        raise
    _record(token, received)
    return received


def _spool_with_room(cluster: Cluster) -> Spool:
    spool, cache_key = spool_of(cluster.name), f"pushed-room:{cluster.pk}"
    if cache.get(cache_key) is None:
        cursor = Cluster.objects.values_list("cursor", flat=True).get(pk=cluster.pk)
        spool.make_room(cursor.get("logs") if isinstance(cursor, dict) else None, time.time())
        cache.set(cache_key, 1, ROOM_FOR_S)
    return spool


def _store_samples(spool: MetricsSpool, pushed: "Pushed") -> Received:
    stored = spool.take(pushed.samples, time.time())
    late = len(pushed.samples) - stored
    problem = pushed.problem
    if late and not problem:
        count = count_text(late, "sample")
        problem = f"{count} older than an hour or of the future; is a clock wrong?"
    return Received(Taken(stored, 0), pushed.unread.total() + late, problem)


def _store_lines(spool: Spool, lines: Iterator[Entry | Skip]) -> Received:
    received, entries, processes = Received(), [], set[str]()
    for entry in lines:
        if isinstance(entry, Entry):
            entries.append(entry)
            received.tells_failure |= entry.is_failure
            processes.add(entry.process)
        else:
            received.skipped += 1
            received.problem = received.problem or f"{entry.subject}: {entry.detail}"
    Count(MAX_PROCESSES, "processes").add(len(processes))
    received.taken = spool.take(
        entries, max(LEAST_REMEMBERED_LINES, REMEMBERED_LINES // max(1, len(processes)))
    )
    return received


def _record(token: PushToken, received: Received) -> None:
    """Lines are stored in files: a read-only database is no failure."""
    now = timezone.now()
    changes: dict[str, Any] = {"last_used_at": now, "lines": F("lines") + received.taken.lines}
    if received.problem:
        changes |= {"last_problem": received.problem[:1000], "last_problem_at": now}
    with suppress(DatabaseError), transaction.atomic():
        PushToken.objects.filter(pk=token.pk).update(**changes)
