"""Whole cycles of 5,000 jobs × 20 vertices × 8 subtasks in a process of their own: a minute of news
after a week of history.

Twice the jobs should take twice the time, and a longer history none. Ratios are of CPU, as other
processes may have the cores. What has them slows these down as well (the same cycle took 50 s and
62 s of CPU): so each runs several times in turn with the others, and the least of each is compared,
which is what was disturbed least.
"""

import statistics
import tempfile
from pathlib import Path

from tests.bench.fleet_cycles import MONTH_H, WEEK_H, cycles
from tests.bench.harness import Report

JOBS = 5_000
ROUNDS = 3
WALL_S = 40.0
FLEETS = {
    f"{JOBS:,} jobs after a week": (JOBS, WEEK_H),
    f"{JOBS:,} jobs after a month": (JOBS, MONTH_H),
    f"{2 * JOBS:,} jobs after a week": (2 * JOBS, WEEK_H),
}


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = cycles(Path(folder), list(FLEETS.values()), ROUNDS)
    for name, runs, wall_s in zip(FLEETS, found, (WALL_S, None, None), strict=True):
        report(
            f"cycle of {name}, wall (median of {ROUNDS})",
            statistics.median(run.wall_s for run in runs),
            "s",
            budget=wall_s,
        )
        for run in runs:
            report(f"cycle of {name}, CPU of all processes", run.cpu_s, "s")
        # Of the server so far: the first round begins with the smallest.
        report(f"cycle of {name}, most memory of the driver", runs[0].driver_bytes / 2**20, "MiB")
    week, month, twice = (min(run.cpu_s for run in runs) for runs in found)
    report("cycle of twice the jobs, least CPU", twice, "s", baseline=week, budget=2.2)
    report(
        "cycle after a month instead of a week, least CPU", month, "s", baseline=week, budget=1.1
    )
