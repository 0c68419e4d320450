"""Server time of pages with 50,000 jobs of 20 clusters after 30 days, on PostgreSQL, and 20 people
on them at once.

Every page with every filter and sort (:mod:`tests.bench.paged_requests`), nothing cached.
``WEIR_BENCH_JOBS`` and ``WEIR_BENCH_MINUTES`` (of the 20 people, five) make it smaller; budgets are
for the whole.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pgserver

from tests.bench.harness import Report
from tests.bench.page_visitors import serving, visit

FEW, MANY = 500, 50_000
PEOPLE, MINUTES = 20, 5.0
BUDGET_MS = {
    "metrics of 5,000 jobs": 2_000,
    "fleet": 150,
    "findings": 150,
    "alerts": 150,
    "incidents": 150,
    "incident": 150,
    "storage": 150,
    "root": 150,
    "hosts": 150,
    "host": 150,
    "growth": 150,
    "growth chart": 150,
    "job": 200,
    "job charts": 200,
    "cluster": 300,
    "objectives": 300,
}


def run(report: Report) -> None:
    many_jobs = int(os.environ.get("WEIR_BENCH_JOBS", MANY))
    minutes = float(os.environ.get("WEIR_BENCH_MINUTES", MINUTES))
    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(Path(folder, "postgresql"), cleanup_mode="delete")
        try:
            few = timings(server, Path(folder, "few"), "few", FEW)
            many = timings(server, Path(folder, "many"), "many", many_jobs, PEOPLE)
            report_times(report, few, many, many_jobs)
            # The home of who signed the people in: its key signs their sessions.
            with serving(Path(folder, "many"), WEIR_DATABASE_URL=server.get_uri("many")) as port:
                found = visit(port, many["sessions"], many["paths"], minutes * 60)
        finally:
            server.cleanup()
    report(f"{PEOPLE} people for {minutes:g} minutes: pages", len(found.seconds), "pages")
    report("their answers, p95, all of the network included", found.p95_ms, "ms")
    report("their errors", len(found.errors), "errors", budget=0)
    for error in found.errors[:20]:
        print(f"  {error}")


def report_times(report: Report, few: dict[str, Any], many: dict[str, Any], jobs: int) -> None:
    for page, budget_ms in BUDGET_MS.items():
        kinds = len(many["paths"][page])
        report(
            f"{page} of {jobs:,} jobs, {kinds} kinds of requests, p95",
            many["p95_ms"][page],
            "ms",
            budget=budget_ms,
        )
        ms, request = many["slowest"][page]
        print(
            f"  slowest at its quickest: {ms:.0f} ms {request}; p95 of {FEW} jobs: "
            f"{few['p95_ms'][page]:.0f} ms"
        )
    for page in BUDGET_MS:
        # Pages of few rows ask for less: what is compared must not grow.
        report(
            f"{page}: queries, against {FEW} jobs",
            many["queries"][page],
            "queries",
            baseline=few["queries"][page],
            budget=1.2,
        )


def timings(
    server: pgserver.PostgresServer, home: Path, name: str, jobs: int, people: int = 0
) -> dict[str, Any]:
    """In a child, because Django is set up once a process."""
    server.psql(f"CREATE DATABASE {name};")
    environment = {
        **os.environ,
        "WEIR_TEST_HOME": str(home),
        "WEIR_HOME": str(home),
        "WEIR_DATABASE_URL": server.get_uri(name),
    }
    command = [sys.executable, "-m", "tests.bench.page_timings", str(jobs), str(people)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The page timings ended with {done.returncode}: {done.stderr[-2_000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures
