"""Finding and ending every process of one supervisor, however deep and however orphaned.

Each supervisor puts a random mark into the environment of what it starts; children of children
inherit it. So a sweep ends what this instance started and nothing else, even after a parent in
between was killed. Where the system shows no environments (``/proc``), there is nothing to find.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

VARIABLE = "WEIR_INSTANCE_MARK"

LOOKS = 3
"""A process that is just becoming another program shows no environment for a moment: one look does
not prove that none is left.
"""

_PROC = Path("/proc")


def processes(mark: str) -> list[int]:
    """Ids of all living processes that carry this mark, this process left out."""
    if not _PROC.is_dir():
        return []
    wanted = f"{VARIABLE}={mark}".encode()
    return [pid for pid in _all_processes() if pid != os.getpid() and wanted in _environment(pid)]


def sweep(mark: str, grace_s: float) -> int:
    """End all processes with this mark: asked first, killed when they are still there after
    ``grace_s``.

    Returns how many there were. New ones that a dying one starts are found too.
    """
    found: set[int] = set()
    deadline = time.monotonic() + grace_s
    looks_left = LOOKS
    while looks_left:
        left = processes(mark)
        for pid in left:
            if pid not in found:
                _send(pid, signal.SIGTERM)
            elif time.monotonic() > deadline:
                _send(pid, signal.SIGKILL)
        found.update(left)
        looks_left = LOOKS if left else looks_left - 1
        time.sleep(0.05)
    return len(found)


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    """Empty for those that are gone, dead but not yet reaped, or another user's."""
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _send(pid: int, signal_number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal_number)
