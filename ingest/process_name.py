"""What `ps` and `top` show of a process that was forked: its command line is that of its parent."""

from contextlib import suppress
from pathlib import Path

LONGEST = 15
"""Characters; the kernel cuts what is longer."""


def be_called(name: str) -> None:
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name[:LONGEST])
