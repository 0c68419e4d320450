"""A warm cycle, as `make run` does one every half minute: three jobs of four vertices, a minute of
news, a Connect server.

CPU is that of all processes: the server, its Python workers, and the client that each cycle starts.
"""

import tempfile
import time
from pathlib import Path

from ingest.lake.store import Lake
from tests.bench.generated_fleet import Fleet
from tests.bench.harness import Report
from tests.bench.process_cpu import cpu_s
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
            figures = [
                _cycle(lake, folder, number, remote) for number in range(1 + WARMING + COUNTED)
            ]
    counted = sorted(figures[1 + WARMING :])
    wall_s = counted[len(counted) // 2][0]
    used_s = sorted(cpu for _, cpu in counted)[len(counted) // 2]
    report("first cycle, half an hour of history", figures[0][0], "s")
    report("warm cycle, wall, median", wall_s, "s", budget=WALL_S)
    report("warm cycle, CPU of all processes, median", used_s, "s", budget=CPU_S)


def _cycle(lake: Lake, folder: Path, number: int, remote: str) -> tuple[float, float]:
    """Wall and CPU seconds of one cycle; the first reads the history, each later one a minute
    more.
    """
    if number:
        lake.append(list(FLEET.minute(HISTORY_MINUTES + number - 1)))
    previous = ["--previous", str(folder / f"run-{number - 1}" / "manifest.json")] if number else []
    cpu_before, started = cpu_s(folder), time.monotonic()
    client = run_cycle(
        folder / "lake",
        folder / f"run-{number}",
        f"attempt-{number}",
        {"SPARK_REMOTE": remote},
        *previous,
    )
    said = client.stdout.read() if client.stdout else ""
    assert client.wait() == 0, said
    return time.monotonic() - started, cpu_s(folder) - cpu_before
