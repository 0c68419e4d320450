"""CPU seconds and memory of a process and of all that it starts, as the kernel counts them."""

import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.2


@dataclass(frozen=True)
class Used:
    """``driver_bytes``: most of it that the process and its direct children, a JVM, ever held
    resident, each at its own time.
    """

    wall_s: float
    cpu_s: float
    driver_bytes: int


def used(process: "subprocess.Popen[str]", started: float, beside: Iterable[int] = ()) -> Used:
    """Waits for the end of a process that began at ``started`` (monotonic). What it did in its last
    fifth of a second may be missing.

    What the processes ``beside`` it and their descendants do meanwhile counts as well, theirs that
    end too: Spark's Python workers, of which no kernel tells after a minute without work, since
    their parent ignores their end.
    """
    beside = list(beside)
    before = {pid: own_ticks(pid) for pid in family(beside)}
    ticks = dict(before)
    resident: dict[int, int] = {}
    ended = False
    while not ended:
        ended = process.poll() is not None
        for pid in family([process.pid, *beside]):
            ticks[pid] = max(ticks.get(pid, 0), own_ticks(pid))
            if pid == process.pid or parent(pid) == process.pid:
                resident[pid] = max(resident.get(pid, 0), most_resident_of(pid))
        if not ended:
            time.sleep(POLL_S)
    cpu_ticks = sum(ticks.values()) - sum(before.values())
    return Used(
        time.monotonic() - started, cpu_ticks / os.sysconf("SC_CLK_TCK"), sum(resident.values())
    )


def family(pids: Iterable[int]) -> list[int]:
    """These processes and all descendants that run."""
    parents = {pid: parent(pid) for pid in running()}
    found = list(pids)
    for pid in found:
        found += [
            child
            for child, its_parent in parents.items()
            if its_parent == pid and child not in found
        ]
    return found


def running() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def command(pid: int) -> bytes:
    return _read(pid, "cmdline").encode()


def parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def own_ticks(pid: int) -> int:
    return sum(int(field) for field in _stat(pid)[11:13])


def ticks_with_ended_children(pid: int) -> int:
    return sum(int(field) for field in _stat(pid)[11:15])


def most_resident_of(pid: int) -> int:
    return _memory(pid, "VmHWM:")


def resident(pid: int) -> int:
    return _memory(pid, "VmRSS:")


def _memory(pid: int, name: str) -> int:
    for line in _read(pid, "status").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _stat(pid: int) -> list[str]:
    """Fields of ``/proc/PID/stat`` behind the name; empty where it has ended."""
    return _read(pid, "stat").rpartition(")")[2].split()


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""
