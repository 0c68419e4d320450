"""Running one long command: its output kept, its time limited, all of its processes ended with it."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from webapp.config.environment import PROJECT_DIR

LOG_BYTES = 16 * 1024 * 1024
STOP_WITHIN_S = 15


class TimedOut(Exception):
    """The command did not end in time and was stopped."""


def run(command: Sequence[str], environment: Mapping[str, str], log: Path, timeout_s: float, say: Callable[[str], None]) -> int:
    """Run to the end and return the exit code; every line goes to ``say``, the first 16 MiB to ``log``.

    On time-out it is asked to stop, then killed with its process group; raises :class:`TimedOut`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "webapp.pipeline.leash", *command],
        env=dict(environment),
        cwd=PROJECT_DIR,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    reader = threading.Thread(target=_keep_output, args=(process, log, say), daemon=True)
    reader.start()
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise TimedOut(f"It did not end within {timeout_s:.0f} s and was stopped.") from None
    finally:
        _end(process)
        # A grandchild may hold the pipe for longer than the command lived.
        reader.join(2)


def _keep_output(process: "subprocess.Popen[str]", log: Path, say: Callable[[str], None]) -> None:
    written = 0
    with log.open("w", encoding="utf-8") as kept:
        for line in process.stdout or ():
            if written < LOG_BYTES:
                written += kept.write(line)
                kept.flush()
            say(line.rstrip("\n")[:2_000])


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_WITHIN_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
