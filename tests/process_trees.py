"""A process and all that it started, which are cut off, or end at once."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """They are there and do nothing, as behind a network that swallows everything; afterwards they
    go on where they were.
    """
    stopped = send(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in stopped:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGCONT)


def send(pid: int, number: signal.Signals) -> list[int]:
    """To each; returns which there were.

    The first gets it first, and so starts no other meanwhile; what it started may end.
    """
    found = _tree(pid)
    for one in found:
        with suppress(ProcessLookupError):
            os.kill(one, number)
    return found


def _tree(pid: int) -> list[int]:
    """Itself first."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [
            int(child) for thread in threads for child in (thread / "children").read_text().split()
        ]
    except FileNotFoundError:
        return [pid]
    return [pid, *(one for child in children for one in _tree(child))]
