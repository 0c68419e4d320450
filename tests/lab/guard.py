"""The last one out: ends what is left of an instance when its supervisor is gone, for whatever
reason.

``python -m tests.lab.guard MARK GRACE_S`` waits until its standard input ends. The supervisor
holds the other end, so that happens when it closes it, and also when it is killed.
"""

import signal
import sys

from tests.lab.marked_processes import sweep


def main() -> None:
    for asked_to_stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(asked_to_stop, signal.SIG_IGN)
    sys.stdin.buffer.read()
    sweep(sys.argv[1], grace_s=float(sys.argv[2]))


if __name__ == "__main__":
    main()
