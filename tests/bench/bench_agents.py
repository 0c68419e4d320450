"""Agents find the root causes of recorded incidents: how often exactly, and by how many calls; by
Weir's tools, and by Flink's own answers and logs. ``tests/bench/agents`` has the questions, and in
``command.py`` how any model plays.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.harness import Report, p95
from tests.migrated import home_with_database

EXACT, MOST_CALLS = 0.9, 4
BUDGETED = "scripted agent, weir"


def run(report: Report) -> None:
    plays: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in _plays():
        plays[one["by"]].append(one)
    for by, of_agent in plays.items():
        calls = [one["calls"] for one in of_agent]
        has_budget = by == BUDGETED
        report(f"{by}: questions", len(of_agent), "")
        exact = _share(of_agent, "is_exact")
        report(f"{by}: exact causes", exact, "", at_least=EXACT if has_budget else None)
        report(f"{by}: next steps that help", _share(of_agent, "helps"), "")
        report(f"{by}: guesses", _share(of_agent, "is_guess"), "")
        report(f"{by}: calls, median", median(calls), "calls")
        report(f"{by}: calls, p95", p95(calls), "calls", budget=MOST_CALLS if has_budget else None)
    for one in plays[BUDGETED]:
        if not one["is_exact"]:
            print(f"  missed: {one['question']} answered {one['answer']}")


def _share(plays: list[dict[str, Any]], name: str) -> float:
    return sum(one[name] for one in plays) / len(plays)


def _plays() -> list[dict[str, Any]]:
    """In a child, because Django is set up once a process."""
    with tempfile.TemporaryDirectory() as folder:
        home = home_with_database(Path(folder, "home"))
        environment = {**os.environ, "WEIR_HOME": str(home)}
        command = [sys.executable, "-m", "tests.bench.agents"]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    return [json.loads(line) for line in done.stdout.splitlines()]
