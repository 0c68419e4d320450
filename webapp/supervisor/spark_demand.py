"""Starts the embedded Spark when a job asks for it, and stops it when none has used it for a while.

Most cycles are small and need no Spark, whose JVM is the largest process of an instance. What jobs ask is told in
:mod:`spark_jobs.spark_on_demand`. Each start has a port and a token of its own: nobody can wait at the port for jobs while it is free.
"""

import json
import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from webapp.supervisor.child import Child
from webapp.supervisor.console import say_step

IDLE_S = 600.0
"""Longer than the interval of any regular work: whoever needs Spark for each cycle keeps it."""
LOOKS_EVERY_S = 0.2
WORD_BYTES = 64
WAITING = 64


@dataclass(frozen=True)
class StartedSpark:
    """``remote``: its address for clients."""

    child: Child
    remote: str
    token: str


class SparkDemand:
    """Serves requests at ``path`` in a thread until :meth:`close`. ``start`` starts one, ``stop`` stops it for good."""

    def __init__(self, path: Path, start: Callable[[], StartedSpark], stop: Callable[[Child], None], idle_s: float = IDLE_S) -> None:
        self._start_spark, self._stop_spark, self._idle_s = start, stop, idle_s
        self._spark: StartedSpark | None = None
        self._is_ready = False
        self._began = self._used = 0.0
        self._waiting: list[socket.socket] = []
        self._users: set[socket.socket] = set()
        self._closing = threading.Event()
        self._wake, self._waker = socket.socketpair()
        path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        path.chmod(0o600)
        self._listening.listen(WAITING)
        self._listening.setblocking(False)
        self._sources = selectors.DefaultSelector()
        for source in (self._wake, self._listening):
            self._sources.register(source, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="spark-demand", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Start no more; what runs is left to whoever stops the children."""
        self._closing.set()
        self._waker.send(b"\0")
        self._thread.join(5)

    def _serve(self) -> None:
        while not self._closing.is_set():
            ready = [key.fileobj for key, _ in self._sources.select(self._wakes_in_s())]
            for source in ready:
                if source is self._listening:
                    self._accept()
                elif isinstance(source, socket.socket) and source is not self._wake:
                    self._hear(source)
            if self._spark and not self._closing.is_set():
                self._look_after(self._spark)

    def _wakes_in_s(self) -> float | None:
        """Without a client, and without a server, nothing wakes it but a new client."""
        if self._spark is None or (self._is_ready and self._users):
            return None
        return max(0.0, self._used + self._idle_s - time.monotonic()) if self._is_ready else LOOKS_EVERY_S

    def _accept(self) -> None:
        with suppress(OSError):
            client, _address = self._listening.accept()
            client.setblocking(False)
            self._sources.register(client, selectors.EVENT_READ)

    def _hear(self, client: socket.socket) -> None:
        try:
            word = client.recv(WORD_BYTES)
        except OSError:
            word = b""
        if word == b"look\n":
            _answer(client, self._place() if self._is_ready else {})
        elif word == b"start\n":
            self._users.add(client)
            self._waiting.append(client)
            if self._spark is None:
                self._begin()
        else:
            self._forget(client)

    def _begin(self) -> None:
        self._is_ready, self._began = False, time.monotonic()
        try:
            self._spark = self._start_spark()
        except OSError as error:  # a full disk, say: the next job tries again
            self._answer_all({"error": str(error)})

    def _look_after(self, spark: StartedSpark) -> None:
        program = spark.child.program
        if not self._is_ready and program.ready():
            self._is_ready = True
            say_step("Spark", "ready", time.monotonic() - self._began)
        if self._is_ready:
            self._answer_all(self._place())
            if self._users:
                self._used = time.monotonic()
            elif time.monotonic() - self._used >= self._idle_s:
                self._end(spark)
        elif time.monotonic() - self._began > program.ready_within_s:
            self._answer_all({"error": f"it is not ready after {program.ready_within_s:.0f} s, see {spark.child.log_path}"})
            self._end(spark)

    def _end(self, spark: StartedSpark) -> None:
        self._spark, self._is_ready = None, False
        self._stop_spark(spark.child)

    def _answer_all(self, answer: dict[str, str]) -> None:
        for client in self._waiting:
            _answer(client, answer)
        self._waiting.clear()

    def _place(self) -> dict[str, str]:
        return {"remote": self._spark.remote, "token": self._spark.token} if self._spark else {}

    def _forget(self, client: socket.socket) -> None:
        self._sources.unregister(client)
        if client in self._users:
            self._users.remove(client)
            self._used = time.monotonic()
        if client in self._waiting:
            self._waiting.remove(client)
        client.close()


def _answer(client: socket.socket, answer: dict[str, str]) -> None:
    """Who has gone meanwhile is heard of by the end of its connection."""
    with suppress(OSError):
        client.sendall(json.dumps(answer).encode() + b"\n")
