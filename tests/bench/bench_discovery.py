"""2,000 clusters of one job each, found by a file of targets: how soon a change shows, and what a
collect cycle over all of them takes.

The JobManagers are simulated (:mod:`tests.bench.simulated_jobmanagers`); discovery, shards,
collection, lake and database are as they run, on SQLite, one shard after the other on one core.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.harness import Report

CLUSTERS, CHANGED = 2_000, 100
VISIBLE_S, CYCLE_S = 30, 60


def run(report: Report, clusters: int = CLUSTERS) -> None:
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        Path(folder, "sources.yml").write_text(
            f"sources: [{{name: bench, file_sd: {{files: ['{folder}/targets.json']}}}}]"
        )
        own = {
            "WEIR_HOME": f"{folder}/home",
            "WEIR_SOURCES": f"{folder}/sources.yml",
            "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
        }
        command = [
            sys.executable,
            "-m",
            "tests.bench.discovery_timings",
            f"{folder}/targets.json",
            str(clusters),
        ]
        told = subprocess.run(
            command, env={**os.environ, **own}, check=True, stdout=subprocess.PIPE, text=True
        )
    for name, value, unit in json.loads(told.stdout.splitlines()[-1]):
        budget = (
            VISIBLE_S
            if "visible" in name
            else CYCLE_S
            if "steady" in name and unit == "s"
            else None
        )
        report(name, value, unit, budget=budget)
