"""The supervisor's side of :mod:`webapp.supervisor.fork_server`: programs become processes that have imported already what they need."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from webapp.supervisor.child import Process, Program, start_anew


class ForkServer:
    """Starts the server, and another one once it is gone. All it forks has the environment that is given here.

    Only where the kernel ends parts with the server that forked them: elsewhere each program is started anew.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], log: Path) -> None:
        self._folder, self._environment, self._log = folder, environment, log
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._one_at_a_time = threading.Lock()

    def begin(self) -> None:
        """Have it import, so that the first program need not wait. Raises ``OSError``."""
        if sys.platform == "linux":
            with self._one_at_a_time:
                self._running()

    def start(self, program: Program) -> Process:
        """Of ``python -m MODULE ARGUMENTS…``. Raises ``OSError``."""
        if sys.platform != "linux":
            return start_anew(program)
        (output, their_output), (answers, their_answers) = os.pipe(), os.pipe()
        request = {"name": program.name, "words": list(program.command[2:])}
        stdout, told = os.fdopen(output, "rb"), os.fdopen(answers)
        try:
            with self._one_at_a_time:
                try:
                    socket.send_fds(self._running(), [json.dumps(request).encode() + b"\n"], [their_output, their_answers])
                finally:
                    os.close(their_output)
                    os.close(their_answers)
                word, _, number = told.readline().partition(" ")
            if word != "pid":
                raise OSError(f"the process that forks it ended: see {self._log}")
        except BaseException:
            stdout.close()
            told.close()
            raise
        return Forked(int(number), stdout, told)

    def close(self, within_s: float = 5) -> None:
        """It ends with its socket, and all it forked with it."""
        with self._one_at_a_time:
            if self._process and self._control:
                self._control.close()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(within_s)
                self._process.kill()
                self._process.wait()

    def _running(self) -> socket.socket:
        if self._process and self._control and self._process.poll() is None:
            return self._control
        if self._control:
            self._control.close()
        self._control, theirs = socket.socketpair()
        with theirs, self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "webapp.supervisor.fork_server"],
                env=dict(self._environment),
                cwd=self._folder,
                stdin=theirs.fileno(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self._control


class Forked:
    """A process that is not a child of this one: the server tells how it ended."""

    def __init__(self, pid: int, stdout: IO[bytes], told: IO[str]) -> None:
        self.pid = pid
        self.stdout: IO[bytes] | None = stdout
        self._told = told
        self._ended = False

    def wait(self) -> int:
        """Its exit code, or below 0 the signal that ended it."""
        word, _, code = self._told.readline().partition(" ")
        self._ended = True
        self._told.close()
        # Where nothing is told the server is gone, and was killed with all it had forked.
        return int(code) if word == "code" else -9

    def send_signal(self, number: int, /) -> None:
        """Raises ``ProcessLookupError``."""
        if not self._ended:
            os.kill(self.pid, number)
