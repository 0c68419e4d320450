"""A whole cycle of 50,000 jobs × 20 vertices × 8 subtasks: core-seconds, and the memory of the
driver against a tenth of the jobs.

Takes long and some GiB of disk, so only where it is named.
"""

import tempfile
from pathlib import Path

from tests.bench.fleet_cycles import WEEK_H, cycle
from tests.bench.harness import Report

JOBS = 50_000
CORE_S = 800.0


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tenth = cycle(Path(folder, "tenth"), JOBS // 10, WEEK_H)
        whole = cycle(Path(folder, "whole"), JOBS, WEEK_H)
    report(f"cycle of {JOBS:,} jobs, wall on two cores", whole.wall_s, "s")
    report(f"cycle of {JOBS:,} jobs, CPU of all processes", whole.cpu_s, "s", budget=CORE_S)
    most, of_tenth = whole.driver_bytes / 2**20, tenth.driver_bytes / 2**20
    report(
        "most memory of the driver, against a tenth of the jobs",
        most,
        "MiB",
        baseline=of_tenth,
        budget=1.5,
    )
