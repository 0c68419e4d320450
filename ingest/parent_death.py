"""Ends this process with its parent. Linux only; elsewhere nothing happens.

A process that is killed cannot stop what it started; the kernel can. This file run as a program,
``PARENT COMMAND…``, becomes COMMAND and keeps what the kernel was asked to do. PARENT is a pid, or
``parent`` for whoever started it.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PARENT = "parent"
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """From now on this process is killed when the thread that started it ends; at once where
    ``parent`` (its pid) is gone already.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        sys.exit(1)


def leashed(command: Sequence[str]) -> list[str]:
    """What to start instead of ``command``: the same, which is killed when the thread that starts
    it ends.
    """
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


if __name__ == "__main__":
    die_with_parent(os.getppid() if sys.argv[1] == PARENT else int(sys.argv[1]))
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - an argument list, no shell
    except OSError as error:
        sys.exit(f"{sys.argv[2]} cannot be started: {error.strerror}")
