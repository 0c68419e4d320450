"""A whole cycle of 5,000 jobs × 20 vertices × 8 subtasks in a process of its own: a minute of news after a week of history.

Twice the jobs should take twice the time, and a longer history none. Ratios are of CPU, as other processes may have the cores.
"""

import tempfile
from pathlib import Path

from tests.bench.fleet_cycles import MONTH_H, WEEK_H, cycle
from tests.bench.harness import Report
from tests.bench.processes import Used

JOBS = 5_000
WALL_S = 40.0


def run(report: Report) -> None:
    week = _figures(report, f"{JOBS:,} jobs after a week", JOBS, WEEK_H, wall_s=WALL_S)
    twice = _figures(report, f"{2 * JOBS:,} jobs after a week", 2 * JOBS, WEEK_H)
    month = _figures(report, f"{JOBS:,} jobs after a month", JOBS, MONTH_H)
    report("cycle of twice the jobs, CPU", twice.cpu_s, "s", baseline=week.cpu_s, budget=2.2)
    report("cycle after a month instead of a week, CPU", month.cpu_s, "s", baseline=week.cpu_s, budget=1.1)


def _figures(report: Report, name: str, jobs: int, hours: int, wall_s: float | None = None) -> Used:
    with tempfile.TemporaryDirectory() as folder:
        found = cycle(Path(folder), jobs, hours)
    report(f"cycle of {name}, wall", found.wall_s, "s", budget=wall_s)
    report(f"cycle of {name}, CPU of all processes", found.cpu_s, "s")
    report(f"cycle of {name}, most memory of the driver", found.driver_bytes / 2**20, "MiB")
    return found
