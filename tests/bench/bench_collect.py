"""A collect cycle over 200 simulated JobManagers with 50 jobs each, the collector held to one core.

The first cycle knows nothing of any job and spends its whole budget; so do the next ones, until all
jobs are known (``catching up``). Only then it is a steady cycle. Recorded time goes on by three
seconds per cycle, in which the recorded job completed about one checkpoint: what one every 30 s
looks like to a cycle of 30 s.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource
from tests.bench.harness import Report

JOBMANAGERS, JOBS, FIRST_PORT = 200, 50, 22200
CYCLE_S = 30
STEADY_CYCLES = 2
MOST_CYCLES = 12
BUDGET_S = 60


def run(report: Report, jobmanagers: int = JOBMANAGERS, jobs: int = JOBS) -> None:
    sources = [
        ClusterSource(f"jm-{number}", f"http://127.0.0.1:{FIRST_PORT + number}")
        for number in range(jobmanagers)
    ]
    with (
        tempfile.TemporaryDirectory(prefix="weir-bench-") as folder,
        simulated(jobmanagers, jobs) as fleet,
        one_core(),
    ):
        lake, cursors, now = Lake(f"{folder}/lake"), {}, datetime.now(UTC)
        steady = 0
        for cycle in range(MOST_CYCLES):
            wall, cpu = time.monotonic(), time.process_time()
            outcomes = collect_shard(
                sources,
                cursors,
                lake,
                at=_clock(now + timedelta(seconds=cycle * CYCLE_S)),
                cycle_s=CYCLE_S,
            )
            wall, cpu = time.monotonic() - wall, time.process_time() - cpu
            cursors = {outcome.cluster: outcome.cursor for outcome in outcomes}
            counts = ask(fleet, "counts")
            ask(fleet, "advance 3")
            assert all(outcome.reachable and outcome.jobs_seen == jobs for outcome in outcomes)
            caught_up = not any(outcome.skips for outcome in outcomes)
            steady += caught_up
            name = "first cycle" if cycle == 0 else "steady cycle" if caught_up else "catching up"
            report(f"{name}, {jobmanagers} JobManagers x {jobs} jobs", wall, "s", budget=BUDGET_S)
            report(f"{name}: CPU of the collector", cpu, "s")
            report(
                f"{name}: most requests at once to one JobManager",
                counts["most_at_once"],
                "",
                budget=2,
            )
            report(f"{name}: requests", counts["requests"], "")
            report(f"{name}: records", sum(outcome.records for outcome in outcomes), "")
            if steady == STEADY_CYCLES:
                break
        report(
            "healthy jobs are sampled every",
            max(outcome.metrics_interval_s or 0 for outcome in outcomes),
            "s",
        )
        report("cursors of the shard", len(json.dumps(cursors)) / 1e6, "MB")
        report(
            "peak memory of the collector",
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "MiB",
        )


def _clock(started: datetime) -> Callable[[], datetime]:
    """A clock that shows ``started`` now and goes on from there: cycles follow each other without
    waiting between them.
    """
    begun = time.monotonic()
    return lambda: started + timedelta(seconds=time.monotonic() - begun)


@contextmanager
def simulated(jobmanagers: int, jobs: int) -> Iterator[subprocess.Popen[str]]:
    arguments = [
        sys.executable,
        "-m",
        "tests.bench.simulated_jobmanagers",
        "1.20.5/A",
        str(FIRST_PORT),
        str(jobmanagers),
        str(jobs),
    ]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as fleet:
        assert fleet.stdout and fleet.stdin
        if fleet.stdout.readline() != "ready\n":
            raise RuntimeError(
                f"The simulated JobManagers did not start; are the ports from {FIRST_PORT} on free?"
            )
        try:
            yield fleet
        finally:
            fleet.stdin.close()


def ask(fleet: subprocess.Popen[str], command: str) -> dict[str, int]:
    assert fleet.stdout and fleet.stdin
    fleet.stdin.write(command + "\n")
    fleet.stdin.flush()
    answer = fleet.stdout.readline()
    return json.loads(answer) if answer.startswith("{") else {}


@contextmanager
def one_core() -> Iterator[None]:
    """This process on its last core, so that the figure is one core's whatever the machine has."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
