"""``python -m webapp.pipeline.leash COMMAND…``: become COMMAND, and die when whoever started it dies.

A Celery worker that is killed cannot stop the Spark client it started; the kernel can. Linux only;
elsewhere this is just the command.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel was asked
        sys.exit(1)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - an argument list, no shell


if __name__ == "__main__":
    main()
