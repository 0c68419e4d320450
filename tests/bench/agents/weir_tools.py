"""Weir's own tools for agents, over a Weir that has watched the recorded cluster until the question
is asked.
"""

import io
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import time_machine
from django.core.management import call_command

from ingest.recordings.recording import Recording
from tests.bench.agents.recorded import Recorded
from tests.webapp.builders import cluster
from webapp.alerting.evaluation import evaluate
from webapp.findings import cluster_errors
from webapp.site.agents.answers import TOOLS
from webapp.site.agents.views import answer_tool
from webapp.work.lake import lake


class WeirTools:
    described = [
        {"name": tool.name, "description": tool.about, "input_schema": tool.schema}
        for tool in TOOLS.values()
    ]

    def __init__(self, at: datetime) -> None:
        self._at = at

    def call(self, name: object, arguments: object) -> tuple[dict[str, Any], bool]:
        with time_machine.travel(self._at, tick=False):
            return answer_tool(name, arguments)


def watched(recorded: Recorded, name: str) -> WeirTools:
    """Load a recording as a cluster of this name that is still watched."""
    with tempfile.TemporaryDirectory() as folder, time_machine.travel(recorded.at, tick=False):
        cluster(name, at=recorded.at)
        recorded.write(Path(folder))
        read = Recording(Path(folder), name).read()
        observed = [one for piece, _bytes in read for one in piece]
        lake().append(sorted(observed, key=lambda one: one.observed_at))
        call_command("run_pipeline", stdout=io.StringIO())
        cluster_errors.watch(recorded.at)
        evaluate(recorded.at)
    return WeirTools(recorded.at)
