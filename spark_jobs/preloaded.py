"""``python -m spark_jobs.preloaded MODULE``: imports what Spark jobs need, then forks a child for each attempt asked for.

A child is as good as ``python -m MODULE ARGUMENTS…``: a process of its own, with its own session, memory, environment, signals and
exit code. It saves what half of a small cycle would go into, the imports. Nothing else may happen in the parent: no channel to Spark,
no lake, no thread of ours, since none of them outlives a fork.

Standard input is a Unix socket. A request is one line of JSON, ``{"arguments": […], "environment": {…}}``, which comes with two open
files, the child's standard output and error. The answers are a line when it was started, ``{"pid": n}``, and one when it and all it
started have ended, ``{"code": n}`` (below 0: the signal that ended it). In between, a line ``stop`` asks it to end and ``kill`` makes
it. The client may vanish at any time: the end of the socket ends child and parent.
"""

import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ingest.garbage_collection import keep_what_is_imported
from ingest.parent_death import die_with_parent
from ingest.process_name import be_called

IMPORTED = ("spark_jobs.jobs.cycle", "spark_jobs.jobs.rollups", "fsspec.implementations.local", "encodings.idna")
"""What cycles and roll-ups need that work without Spark."""
IMPORTED_LATER = (
    "spark_jobs.jobs.recompute",
    "spark_jobs.jobs.roll_up",
    "spark_jobs.jobs.audit",
    "spark_jobs.jobs.age_rule",
    "pyspark.sql.connect.session",
    "pyspark.sql.connect.functions",
    "pyspark.sql.connect.window",
)
"""From the third request on: a command asks for a cycle and roll-ups, and would only wait for it."""

IDLE_S = 900
"""A parent that nobody needs does not keep its memory for longer than this."""

REQUEST_BYTES = 1 << 20


def main() -> None:
    module = sys.argv[1]
    control = socket.socket(fileno=os.dup(0))
    _import(IMPORTED)
    arguments = _Parent(control).serve()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _import(names: Sequence[str]) -> None:
    for name in names:
        with suppress(ImportError):  # the job that needs it fails and says why
            importlib.import_module(name)
    keep_what_is_imported()


class _Parent:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._read = b""
        self._wake, waker = socket.socketpair()
        for end in (self._wake, waker):
            end.setblocking(False)
        self._waker = waker
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)

    def serve(self) -> list[str]:
        """Fork for one request after the other. Returns in children only, with the arguments of theirs."""
        self._control.settimeout(IDLE_S)
        asked = 0
        while True:
            request, files = self._request()
            if asked == 2:
                _import(IMPORTED_LATER)
            me = os.getpid()
            child = os.fork()
            if not child:
                return self._become(request, files, me)
            for file in files:
                os.close(file)
            self._answer(pid=child)
            self._answer(code=self._watch(child))
            asked += 1

    def _request(self) -> tuple[dict[str, Any], list[int]]:
        files: list[int] = []
        while not (line := self._asked()):
            try:
                data, received, _flags, _address = socket.recv_fds(self._control, REQUEST_BYTES, 2)
            except OSError:  # no request for a long time, or the client is gone
                data, received = b"", []
            if not data:
                sys.exit(0)
            self._read += data
            files += received
        return json.loads(line), files

    def _asked(self) -> bytes:
        """The next request that has come whole. A word for a child that had just ended is passed over."""
        while b"\n" in self._read:
            line, _, self._read = self._read.partition(b"\n")
            if line.startswith(b"{"):
                return line
        return b""

    def _become(self, request: dict[str, Any], files: list[int], parent: int) -> list[str]:
        """Nothing of the parent but what it imported is left in the child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        die_with_parent(parent)
        for end in (self._control, self._wake, self._waker):
            end.close()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for file, standard in zip((nothing, *files), (0, 1, 2), strict=True):
            os.dup2(file, standard)
            os.close(file)
        os.environ.clear()
        os.environ.update(request["environment"])
        arguments = [str(one) for one in request["arguments"]]
        be_called(" ".join(["spark", *arguments[:1]]))
        return arguments

    def _watch(self, child: int) -> int:
        """Until the child has ended; returns its exit code, or below 0 the signal that ended it."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._control, selectors.EVENT_READ)
            waiting.register(self._wake, selectors.EVENT_READ)
            while not (ended := os.waitpid(child, os.WNOHANG))[0]:
                ready = {key.fileobj for key, _ in waiting.select()}
                if self._wake in ready:
                    with suppress(BlockingIOError):
                        self._wake.recv(4096)
                if self._control in ready:
                    self._obey(child)
        _kill_group(child)
        return os.waitstatus_to_exitcode(ended[1])

    def _obey(self, child: int) -> None:
        word = self._control.recv(64)
        if not word:
            _kill_all(child)
            sys.exit(0)
        if b"stop" in word:
            os.kill(child, signal.SIGTERM)
        if b"kill" in word:
            _kill_all(child)

    def _answer(self, **reported: int) -> None:
        try:
            self._control.sendall(json.dumps(reported).encode() + b"\n")
        except OSError:
            _gone()


def _kill_all(child: int) -> None:
    """With its process group, which it may not have made yet."""
    os.kill(child, signal.SIGKILL)
    _kill_group(child)


def _kill_group(child: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _gone() -> NoReturn:
    """The client is gone; a child of this process dies with it."""
    sys.exit(0)


if __name__ == "__main__":
    main()
