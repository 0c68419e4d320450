"""``python -m webapp.supervisor.fork_server``: imports what the parts of Weir have in common once, then forks them.

A part is as good as ``python -m MODULE ARGUMENTS…``: a process and a session of its own, with its own memory, signals, output and end.
It saves the imports: seconds of CPU and most of the memory of each. Nothing else may happen here: no thread, no connection, no file
that stays open, since a fork would share them.

Standard input is a Unix socket. A request is one line of JSON, ``{"name": …, "words": [MODULE, ARGUMENTS…]}``, which comes with two
open files: the part's output and error, and a pipe for answers. Those are a line ``pid N`` when it was started and a line ``code N``
when it has ended (below 0: the signal that ended it). Parts die with this process; when the socket ends they are asked to end first.
"""

import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress

from ingest.garbage_collection import keep_what_is_imported
from ingest.parent_death import die_with_parent
from ingest.process_name import be_called

IMPORTED = (
    "celery.__main__",
    "celery.bin.celery",
    "celery.apps.worker",
    "celery.apps.beat",
    "celery.concurrency.prefork",
    "celery.worker.consumer",
    "celery.worker.autoscale",
    "kombu.transport.redis",
)
"""What every worker and the beat load, beside the tasks."""
REQUEST_BYTES = 1 << 16
END_WITHIN_S = 4.0


def main() -> None:
    be_called("fork-server")
    control = socket.socket(fileno=os.dup(0))
    _import()
    words = _Server(control).serve()
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def _import() -> None:
    from webapp.config.celery import app

    for name in IMPORTED:
        importlib.import_module(name)
    app.loader.import_default_modules()
    app.finalize()
    keep_what_is_imported()


class _Server:
    """``answers``: of each part that runs, the pipe on which its end is told."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._answers: dict[int, int] = {}
        self._wake, self._waker = socket.socketpair()
        for end in (self._wake, self._waker):
            end.setblocking(False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _noted)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)

    def serve(self) -> list[str]:
        """Fork for one request after the other. Returns in parts only, with the words of theirs."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._control, selectors.EVENT_READ)
            waiting.register(self._wake, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in waiting.select()}
                if self._wake in ready and self._is_asked_to_end():
                    self._end()
                self._reap()
                if self._control in ready and (words := self._obey()):
                    return words

    def _is_asked_to_end(self) -> bool:
        return bool(set(self._wake.recv(4096)) - {signal.SIGCHLD})

    def _obey(self) -> list[str]:
        """One request; in the forked part its words, here nothing."""
        data, files, _flags, _address = socket.recv_fds(self._control, REQUEST_BYTES, 2)
        while data and not data.endswith(b"\n"):
            data += (more := self._control.recv(REQUEST_BYTES))
            data = data if more else b""
        if not data:
            self._end()
        request = json.loads(data)
        output, answers = files
        me = os.getpid()
        part = os.fork()
        if not part:
            os.close(answers)
            self._become(request["name"], output, me)
            return list(request["words"])
        os.close(output)
        self._answers[part] = answers
        _tell(answers, f"pid {part}")
        return []

    def _become(self, name: str, output: int, parent: int) -> None:
        """Nothing of this process but what it imported is left in a part."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        die_with_parent(parent)
        for end in (self._control, self._wake, self._waker):
            end.close()
        for pipe in self._answers.values():
            os.close(pipe)
        for file, standard in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(file, standard)
        os.close(output)
        be_called(name)

    def _reap(self) -> None:
        while self._answers:
            part, status = os.waitpid(-1, os.WNOHANG)
            if not part:
                return
            answers = self._answers.pop(part)
            _tell(answers, f"code {os.waitstatus_to_exitcode(status)}")
            os.close(answers)

    def _end(self) -> None:
        """What does not end when it is asked is killed with this process."""
        until = time.monotonic() + END_WITHIN_S
        for part in self._answers:
            os.kill(part, signal.SIGTERM)
        while self._answers and time.monotonic() < until:
            self._reap()
            time.sleep(0.05)
        sys.exit(0)


def _noted(_number: int, _frame: object) -> None:
    """The number has gone into the wake-up pipe."""


def _tell(answers: int, line: str) -> None:
    with suppress(OSError):
        os.write(answers, line.encode() + b"\n")


if __name__ == "__main__":
    main()
