"""Running one long command: its output kept, its time limited, all of its processes ended with it."""

import contextlib
import contextvars
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol, cast

from ingest.parent_death import leashed
from webapp.config.environment import PROJECT_DIR

logger = logging.getLogger(__name__)

LOG_BYTES = 16 * 1024 * 1024
STOP_WITHIN_S = 15


class TimedOut(Exception):
    """The command did not end in time and was stopped."""


Say = Callable[[str], None]


class Running(Protocol):
    """A command at work."""

    @property
    def outputs(self) -> tuple[IO[str], IO[str]]:
        """Its standard output and standard error."""

    def wait(self, timeout_s: float | None) -> int:
        """Its exit code; raises ``TimeoutError``."""

    def end(self) -> None:
        """If it has not ended: ask it to, then kill it with its process group."""


def run(command: Sequence[str], environment: Mapping[str, str], log: Path, timeout_s: float, say: Say, note: Say) -> int:
    """Start the command on the leash and :func:`watch` it."""
    return watch(lambda: _Command(command, environment), log, timeout_s, say, note)


def watch(start: Callable[[], Running], log: Path, timeout_s: float, say: Say, note: Say) -> int:
    """Run to the end and return the exit code. Lines of standard output go to ``say``, of standard error to ``note``,
    the first 16 MiB of both to ``log``.

    On time-out it is asked to stop, then killed with its process group; raises :class:`TimedOut`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    kept = _BoundedLog(log)
    running = start()
    readers = [
        threading.Thread(target=contextvars.copy_context().run, args=(_read, stream, kept, line_to), daemon=True)
        for stream, line_to in zip(running.outputs, (say, note), strict=True)
    ]
    for reader in readers:
        reader.start()
    try:
        return running.wait(timeout_s)
    except TimeoutError:
        raise TimedOut(f"It did not end within {timeout_s:.0f} s and was stopped.") from None
    finally:
        running.end()
        # A grandchild may hold the pipe for longer than the command lived.
        for reader in readers:
            reader.join(2)
        kept.close()


class _Command:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            leashed(command),
            env=dict(environment),
            cwd=PROJECT_DIR,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    @property
    def outputs(self) -> tuple[IO[str], IO[str]]:
        return cast("IO[str]", self._process.stdout), cast("IO[str]", self._process.stderr)

    def wait(self, timeout_s: float | None) -> int:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def end(self) -> None:
        process = self._process
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_WITHIN_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class _BoundedLog:
    """Two threads write to it, line by line, until it is full, or the disk is: a reader that stopped would block the command."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="utf-8", errors="replace")
        self._lock = threading.Lock()
        self._room = LOG_BYTES

    def write(self, line: str) -> None:
        with self._lock:
            if self._room > 0 and not self._file.closed:
                try:
                    self._room -= self._file.write(line)
                    self._file.flush()
                except OSError as error:
                    self._room = 0
                    logger.warning("%s is not written any further (%s); the command continues.", self._path, error.strerror)

    def close(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._file.close()


def _read(stream: IO[str], kept: _BoundedLog, line_to: Say) -> None:
    for line in stream:
        kept.write(line)
        line_to(line.rstrip("\n")[:2_000])
