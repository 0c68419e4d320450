"""Ends this process with its parent. Linux only; elsewhere nothing happens.

A process that is killed cannot stop what it started; the kernel can.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """From now on this process is killed when the thread that started it ends; at once where ``parent`` (its pid) is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        sys.exit(1)
