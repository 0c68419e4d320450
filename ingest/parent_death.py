"""Ends a process when its parent ends (Linux only).

This file is also a program with the arguments ``PARENT COMMAND…``: it calls
``die_with_parent``, then becomes COMMAND. PARENT is the parent's pid, or ``parent`` for
whichever process it is.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PARENT = "parent"
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the thread that started it ends. Exits at once if the
    process with the pid ``parent`` has ended.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        sys.exit(1)


def leashed(command: Sequence[str]) -> list[str]:
    """A command that runs ``command`` until this process ends."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


if __name__ == "__main__":
    die_with_parent(os.getppid() if sys.argv[1] == PARENT else int(sys.argv[1]))
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - an argument list, no shell
    except OSError as error:
        sys.exit(f"{sys.argv[2]} cannot be started: {error.strerror}")
