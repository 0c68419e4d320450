"""From evidence in the lake to the first attempt to tell of it: a whole Weir, a real receiver,
recordings that come in at odd times.

The yardstick is a cycle as it went in the same run: the wait between two, and what the slowest of
them took.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ingest.replay.shipped import recordings
from tests.bench.harness import Report, p95
from tests.integration.running import RunningWeir, until
from tests.webapp.delivery.receiver import Receiver, receiving

RECORDING = "1.20.5/F"
IMPORTS = 12
INTERVAL_S = 30
SLACK_S = 10


def run(report: Report) -> None:
    settings = {
        "WEIR_DEMO": "false",
        "WEIR_SPARK_INTERVAL_S": str(INTERVAL_S),
        "WEIR_WEBHOOK_ALLOW_HTTP": "true",
        "WEIR_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        receiving() as receiver,
        RunningWeir(Path(folder, "home"), **settings) as weir,
    ):
        weir.wait_up()
        weir.add_endpoint(f"{receiver.url}/ok")
        _import(weir, "warm")
        _first_attempts(receiver, {"warm"})
        committed = {}
        for number in range(IMPORTS):
            time.sleep(random.uniform(3, INTERVAL_S))
            _import(weir, f"f-{number}")
            committed[f"f-{number}"] = time.time()
        arrived = _first_attempts(receiver, set(committed))
        took_s = [
            row[0] / 1000
            for row in weir.rows(
                "SELECT duration_ms FROM work_pipelinerun WHERE key = 'spark/cycle'"
            )
            if row[0]
        ]
    waits = sorted(arrived[name] - committed[name] for name in committed)
    cycle_s = INTERVAL_S + max(took_s[1:])
    report("slowest cycle with the wait before it", cycle_s, "s")
    report("evidence in the lake to first attempt, median", waits[len(waits) // 2], "s")
    report(
        "evidence in the lake to first attempt, p95",
        p95(waits),
        "s",
        budget=cycle_s + SLACK_S,
    )


def _import(weir: RunningWeir, cluster: str) -> None:
    command = [
        sys.executable,
        "-m",
        "ingest",
        "import",
        str(recordings() / RECORDING),
        "--cluster",
        cluster,
    ]
    subprocess.run(command, env=weir.variables, check=True, capture_output=True)


def _first_attempts(receiver: Receiver, clusters: set[str]) -> dict[str, float]:
    """Cluster → when the receiver was first told of it, in seconds since 1970."""
    arrived: dict[str, float] = {}

    def all_there() -> bool:
        for got in receiver.got:
            arrived.setdefault(json.loads(got.body)["data"]["cluster"], got.at)
        return clusters <= arrived.keys()

    until(all_there, 600, "a notice about each recording")
    return arrived
