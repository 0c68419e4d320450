"""An attempt at a Spark job as a child of a process that has already imported what it needs (:mod:`spark_jobs.preloaded`).

Each of our processes that runs jobs keeps such a parent and starts another when it is gone; both ends of that are safe: a parent
dies with us, and its child with it.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ingest.parent_death import leashed
from webapp.config.environment import PROJECT_DIR
from webapp.work.subprocesses import STOP_WITHIN_S, Say, watch

LOST = -signal.SIGKILL
"""Exit code where the parent was killed, and its child with it."""


class ParentGone(Exception):
    """It ended, or was killed, before it had started anything."""


def run(module: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path, timeout_s: float, say: Say, note: Say) -> int:
    """As ``python -m MODULE ARGUMENTS…`` under :func:`webapp.work.subprocesses.run`."""
    return watch(lambda: _started(module, arguments, environment), log, timeout_s, say, note)


class _Parent:
    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self.module = module
        self.child: int | None = None
        self._answers = b""
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                leashed([sys.executable, "-m", "spark_jobs.preloaded", module]),
                env=dict(environment),
                cwd=PROJECT_DIR,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def ask(self, request: Mapping[str, Any], files: Sequence[int]) -> None:
        """Have a child forked; raises :class:`ParentGone`."""
        data = json.dumps(request).encode() + b"\n"
        try:
            sent = socket.send_fds(self._control, [data], files)
            self._control.sendall(data[sent:])
        except OSError:
            raise ParentGone from None
        self.child = self.answer(None).get("pid")
        if self.child is None:
            raise ParentGone

    def answer(self, timeout_s: float | None) -> dict[str, int]:
        """The next one; empty where the parent is gone. Raises ``TimeoutError``."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._answers:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._control], [], [], left_s)[0]:
                raise TimeoutError
            try:
                data = self._control.recv(4096)
            except OSError:
                data = b""
            if not data:
                return {}
            self._answers += data
        line, _, self._answers = self._answers.partition(b"\n")
        answer: dict[str, int] = json.loads(line)
        return answer

    def say(self, word: str) -> None:
        with suppress(OSError):
            self._control.sendall(f"{word}\n".encode())

    def close(self) -> None:
        """It ends with its socket."""
        self._control.close()
        self._process.wait()


class _Attempt:
    def __init__(self, parent: _Parent, outputs: tuple[IO[str], IO[str]]) -> None:
        self._parent, self.outputs = parent, outputs
        self._code: int | None = None

    def wait(self, timeout_s: float | None) -> int:
        if self._code is None:
            self._code = self._parent.answer(timeout_s).get("code", LOST)
        return self._code

    def end(self) -> None:
        for word, within_s in (("stop", STOP_WITHIN_S), ("kill", None)):
            if self._code is None:
                self._parent.say(word)
                with suppress(TimeoutError):
                    self.wait(within_s)
        if self._code == LOST:
            if self._parent.child:  # it died with its parent, but what it started did not
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._parent.child, signal.SIGKILL)
            self._parent.close()
        else:
            _idle.setdefault(os.getpid(), []).append(self._parent)


_idle: dict[int, list[_Parent]] = {}
"""Process → its parents that wait for a request; a process that was forked has none of those of the one it was forked from."""


def _started(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> _Attempt:
    idle = _idle.setdefault(os.getpid(), [])
    while parents := [parent for parent in idle if parent.module == module]:
        idle.remove(parents[0])
        try:
            return _asked(parents[0], arguments, environment)
        except ParentGone:
            parents[0].close()
    return _asked(_Parent(module, environment), arguments, environment)


def _asked(parent: _Parent, arguments: Sequence[str], environment: Mapping[str, str]) -> _Attempt:
    (out, theirs_out), (error, theirs_error) = os.pipe(), os.pipe()
    outputs = os.fdopen(out, errors="replace"), os.fdopen(error, errors="replace")
    try:
        parent.ask({"arguments": list(arguments), "environment": dict(environment)}, [theirs_out, theirs_error])
    except ParentGone:
        for stream in outputs:
            stream.close()
        raise
    finally:
        os.close(theirs_out)
        os.close(theirs_error)
    return _Attempt(parent, outputs)
