"""10,000 findings grouped and queued for three endpoints, on SQLite and on PostgreSQL; beside it
what inserting the same rows costs.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pgserver

from tests.bench.harness import Report

FINDINGS = 10_000
BUDGET_S = 30


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(Path(folder, "postgresql"), cleanup_mode="delete")
        try:
            server.psql("CREATE DATABASE alerts;")
            for name, url in (("SQLite", ""), ("PostgreSQL", server.get_uri("alerts"))):
                _report(report, name, timings(Path(folder, name), url))
        finally:
            server.cleanup()


def timings(home: Path, url: str) -> dict[str, float]:
    """In a child, because Django is set up once a process."""
    environment = {
        **os.environ,
        "WEIR_TEST_HOME": str(home),
        "WEIR_HOME": str(home),
        "WEIR_DATABASE_URL": url,
    }
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.alert_timings", str(FINDINGS)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"The alert timings ended with {done.returncode}: {done.stderr[-2_000:]}"
        )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _report(report: Report, name: str, took: dict[str, float]) -> None:
    report(f"10,000 alerts grouped and queued, {name}", took["first_s"], "s", budget=BUDGET_S)
    report(
        f"the same against inserting its rows plainly, {name}",
        took["first_s"],
        "s",
        baseline=took["inserted_s"],
    )
    report(f"a look at 10,000 open alerts without news, {name}", took["idle_s"], "s", budget=2)
    report(f"the same with one silence in force, {name}", took["silenced_s"], "s", budget=5)
    report(f"10,000 alerts resolved and queued, {name}", took["resolved_s"], "s", budget=BUDGET_S)
