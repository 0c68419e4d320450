"""How an attempt of a job ends that is asked to, and what earlier ones may have left running on a Spark Connect server."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

TERMINATED = 143
"""Exit code after SIGTERM, as a shell reports it."""


@contextmanager
def exits_on_sigterm() -> Iterator[None]:
    """Within this block SIGTERM ends the process as an exception would: blocks are left in order, exit code 143."""

    def leave(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def interrupt_attempts(tags: Sequence[str]) -> None:
    """Spark is imported only where there are any: that takes longer than a small job."""
    if tags:
        from spark_jobs.session import interrupt_attempt

        for tag in tags:
            interrupt_attempt(tag)
