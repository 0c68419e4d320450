"""CPU of a Spark server with its Python workers, and of clients."""

import os
import resource
from pathlib import Path

from tests.bench.processes import (
    command,
    family,
    most_resident_of,
    running,
    ticks_with_ended_children,
)


def cpu_s(folder: Path) -> float:
    """CPU seconds so far: of the Connect server in ``folder`` with all its processes, and of the
    clients that have ended.
    """
    clients = resource.getrusage(resource.RUSAGE_CHILDREN)
    server = family(servers(folder))
    return (
        clients.ru_utime
        + clients.ru_stime
        + sum(map(ticks_with_ended_children, server)) / os.sysconf("SC_CLK_TCK")
    )


def most_resident(folder: Path) -> int:
    """Most bytes that the server in ``folder`` itself, a JVM, ever held resident."""
    return sum(map(most_resident_of, servers(folder)))


def servers(folder: Path) -> list[int]:
    return [pid for pid in running() if str(folder).encode() in command(pid)]
