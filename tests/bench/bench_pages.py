"""Server time of the fleet page with 50,000 jobs, and of a job page over a week, on PostgreSQL."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pgserver

from tests.bench.harness import Report

FEW, MANY = 500, 50_000
BUDGET_MS = 300


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(Path(folder, "postgresql"), cleanup_mode="delete")
        try:
            few, many = (timings(server, Path(folder, str(jobs)), jobs) for jobs in (FEW, MANY))
        finally:
            server.cleanup()
    report("fleet page, 50,000 jobs, nothing cached, p95", many["plain_p95_ms"], "ms", budget=BUDGET_MS)
    report("fleet page, 50,000 jobs against 500", many["plain_p95_ms"], "ms", baseline=few["plain_p95_ms"], budget=1.5)
    report("fleet page sorted, paged, filtered, searched, p95", many["mixed_p95_ms"], "ms", budget=BUDGET_MS)
    report("fleet page, queries, 50,000 jobs against 500", many["queries"], "queries", baseline=few["queries"], budget=1.0)
    report("job page, 7 days at one checkpoint a minute, p95", many["job_p95_ms"], "ms", budget=BUDGET_MS)
    report("its timeline chart, p95", many["timeline_p95_ms"], "ms", budget=BUDGET_MS)
    report("its size chart, p95", many["size_p95_ms"], "ms", budget=BUDGET_MS)


def timings(server: pgserver.PostgresServer, home: Path, jobs: int) -> dict[str, float]:
    """In a child, because Django is set up once a process."""
    server.psql(f"CREATE DATABASE fleet_{jobs};")
    environment = {**os.environ, "WEIR_TEST_HOME": str(home), "WEIR_HOME": str(home), "WEIR_DATABASE_URL": server.get_uri(f"fleet_{jobs}")}
    command = [sys.executable, "-m", "tests.bench.page_timings", str(jobs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The page timings ended with {done.returncode}: {done.stderr[-2_000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures
