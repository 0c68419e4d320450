"""A warm cycle, as `make run` does one every half minute: three jobs of four vertices, a minute of news, a Connect server.

CPU is that of all processes: the server, its Python workers, and the client that each cycle starts.
"""

import os
import resource
import tempfile
import time
from pathlib import Path

from ingest.lake.store import Lake
from tests.bench.generated_fleet import Fleet
from tests.bench.harness import Report
from tests.spark_processes import connect_server, run_cycle

FLEET = Fleet(jobs=3, vertices=4, subtasks=4)
HISTORY_MINUTES = 30
WARMING, COUNTED = 4, 5
WALL_S, CPU_S = 3.0, 4.0


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lake = Lake(str(folder / "lake"))
        for minute in range(HISTORY_MINUTES):
            lake.append(list(FLEET.minute(minute)))
        with connect_server(folder / "spark") as remote:
            figures = [_cycle(lake, folder, number, remote) for number in range(1 + WARMING + COUNTED)]
    counted = sorted(figures[1 + WARMING :])
    wall_s, cpu_s = counted[len(counted) // 2][0], sorted(cpu for _, cpu in counted)[len(counted) // 2]
    report("first cycle, half an hour of history", figures[0][0], "s")
    report("warm cycle, wall, median", wall_s, "s", budget=WALL_S)
    report("warm cycle, CPU of all processes, median", cpu_s, "s", budget=CPU_S)


def _cycle(lake: Lake, folder: Path, number: int, remote: str) -> tuple[float, float]:
    """Wall and CPU seconds of one cycle; the first reads the history, each later one a minute more."""
    if number:
        lake.append(list(FLEET.minute(HISTORY_MINUTES + number - 1)))
    previous = ["--previous", str(folder / f"run-{number - 1}" / "manifest.json")] if number else []
    cpu_before, started = _cpu_s(folder), time.monotonic()
    client = run_cycle(folder / "lake", folder / f"run-{number}", f"attempt-{number}", {"SPARK_REMOTE": remote}, *previous)
    said = client.stdout.read() if client.stdout else ""
    assert client.wait() == 0, said
    return time.monotonic() - started, _cpu_s(folder) - cpu_before


def _cpu_s(folder: Path) -> float:
    """CPU seconds so far: of the Connect server in ``folder`` with all its processes, and of the clients that have ended."""
    clients = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clients.ru_utime + clients.ru_stime + sum(_ticks(pid) for pid in _family(folder)) / os.sysconf("SC_CLK_TCK")


def _family(folder: Path) -> list[int]:
    parents = {int(path.name): int(_stat(path)[1]) for path in Path("/proc").iterdir() if path.name.isdigit() and _stat(path)}
    family = [pid for pid in parents if str(folder).encode() in _command(pid)]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid and child not in family]
    return family


def _ticks(pid: int) -> int:
    """Own time and that of children that have ended."""
    return sum(int(field) for field in _stat(Path(f"/proc/{pid}"))[11:15])


def _stat(process: Path) -> list[str]:
    """Fields of ``/proc/PID/stat`` behind the name; empty where it has ended."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
