"""One long-running process: started, its output kept, started again when it dies, stopped in bounded time."""

import contextlib
import logging
import logging.handlers
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from ingest.parent_death import leashed
from webapp.supervisor.console import say
from webapp.supervisor.marked_processes import is_stopped

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
WELL_AFTER_S = 60.0
"""A process that lived this long is well again: its next pause is the first one."""

LOOKS_EVERY_S = 5.0

LOG_BYTES = 10 * 1024 * 1024
LOGS_KEPT = 3


class Process(Protocol):
    """What a :class:`Child` needs of a running process; ``subprocess.Popen`` is one."""

    pid: int
    stdout: IO[bytes] | None

    def wait(self) -> int: ...

    def send_signal(self, number: int, /) -> None: ...


def start_anew(program: "Program") -> Process:
    """Raises ``OSError``."""
    return subprocess.Popen(
        leashed(program.command),
        env=dict(program.environment),
        cwd=program.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C in the terminal reaches the supervisor alone, which stops them in order
    )


@dataclass(frozen=True)
class Program:
    """What to run. ``ready`` says without waiting whether it serves; ``stop_within_s`` is its time to end.

    ``start`` makes a process of it, the leader of a session of its own, and raises ``OSError`` where it cannot.
    One that is stopped (``SIGSTOP``) for ``stopped_at_most_s`` is killed, and started again as one that died.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    ready: Callable[[], bool] = lambda: True
    ready_within_s: float = 60
    stop_within_s: float = 8
    stopped_at_most_s: float = float("inf")
    start: Callable[["Program"], Process] = start_anew


class NotReady(Exception):
    """The program did not serve in time; the message says where its log is."""


class Child:
    """Runs a :class:`Program` until :meth:`stop`, in a thread that also writes its log."""

    def __init__(self, program: Program, logs: Path) -> None:
        self.program = program
        self.log_path = logs / f"{program.name}.log"
        self.restarts = 0
        self._logger = rotated_log(self.log_path)
        self._stopping = threading.Event()
        self._process: Process | None = None
        self._thread = threading.Thread(target=self._keep_running, name=program.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def wait_ready(self, stop: threading.Event) -> float:
        """Seconds until it served. Raises :class:`NotReady`; returns early when ``stop`` is set."""
        started = time.monotonic()
        while not stop.is_set() and not self.program.ready():
            if time.monotonic() - started > self.program.ready_within_s:
                raise NotReady(f"{self.program.name} is not ready after {self.program.ready_within_s:.0f} s: see {self.log_path}")
            stop.wait(0.05)
        return time.monotonic() - started

    def ask_to_stop(self) -> None:
        self._stopping.set()
        self._signal(signal.SIGTERM)

    def stop(self) -> None:
        """End it within ``stop_within_s``, with all of its process group."""
        self.ask_to_stop()
        self._thread.join(self.program.stop_within_s)
        self.kill()
        self._thread.join(5)

    def kill(self) -> None:
        self._stopping.set()
        if self._process:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _keep_running(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            started = time.monotonic()
            ending = self._run_once()
            if self._stopping.is_set():
                return
            pause_s = FIRST_PAUSE_S if time.monotonic() - started > WELL_AFTER_S else pause_s
            say(f"  {self.program.name} ended unexpectedly ({ending}); starting it again in {pause_s:.0f} s. Log: {self.log_path}")
            self._stopping.wait(pause_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 2)
            self.restarts += 1

    def _run_once(self) -> str:
        """Run to the end, every line of output into the log; returns how it ended, in words."""
        try:
            process = self.program.start(self.program)
        except OSError as error:
            return f"it cannot be started: {error}"
        self._process = process
        if self._stopping.is_set():  # asked to stop before there was anything to signal
            self._signal(signal.SIGTERM)
        reader = threading.Thread(target=self._keep_output, args=(process.stdout,), daemon=True)
        reader.start()
        ended = threading.Event()
        threading.Thread(target=self._replace_if_stopped, args=(process.pid, ended), daemon=True).start()
        code = process.wait()
        ended.set()
        # What it started may hold the pipe for longer than it lived.
        reader.join(1)
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def _replace_if_stopped(self, pid: int, ended: threading.Event) -> None:
        runs_until = time.monotonic()
        while not ended.wait(min(LOOKS_EVERY_S, self.program.stopped_at_most_s)):
            if not is_stopped(pid):
                runs_until = time.monotonic()
            elif time.monotonic() - runs_until > self.program.stopped_at_most_s:
                say(f"  {self.program.name} (process {pid}) is stopped and does nothing: it is killed.")
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)

    def _keep_output(self, output: IO[bytes] | None) -> None:
        for line in output or ():
            self._logger.info("%s", line.decode("utf-8", "replace").rstrip("\n"))

    def _signal(self, number: signal.Signals) -> None:
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


def rotated_log(path: Path) -> logging.Logger:
    """A logger of bare lines into ``path``, which never takes more than 40 MB with its older files."""
    logger = logging.Logger(path.stem)
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOGS_KEPT, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    return logger
