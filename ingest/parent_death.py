"""Ends this process with its parent (Linux only). As a program with ``PARENT COMMAND…``, this file
becomes COMMAND with that request to the kernel. PARENT is a pid, or ``parent`` for the process that
started it.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PARENT = "parent"
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """The kernel kills this process when the thread that started it ends; at once if ``parent``
    (its pid) has ended.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the call
        sys.exit(1)


def leashed(command: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


if __name__ == "__main__":
    die_with_parent(os.getppid() if sys.argv[1] == PARENT else int(sys.argv[1]))
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - an argument list, no shell
    except OSError as error:
        sys.exit(f"{sys.argv[2]} cannot be started: {error.strerror}")
