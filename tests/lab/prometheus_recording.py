"""Record what a real Prometheus says of a real Flink, and what that Flink's REST API says in the
same minute.

python -m tests.lab.prometheus_recording FOLDER --version 2.3.0
"""

import argparse
import asyncio
import gzip
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ingest.flink_rest.client import client_of
from ingest.flink_rest.collector import collect_cluster
from ingest.prometheus.collector import read_metrics
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource, PrometheusSource
from tests.lab.cluster import start
from tests.lab.prometheus import Prometheus
from tests.lab.releases import DEFAULT_VERSION

STEP_S = 5
RUNNING_S = 20
RECORDED_S = 40


class Answers:
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def take(self, path: str, status: int, body: Any) -> None:
        self.lines.append({"ts": time.time(), "path": path, "status": status, "body": body})

    def save(self, file: Path) -> None:
        with gzip.open(file, "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in self.lines)


def record(version: str, folder: Path) -> SourceRead:
    folder.mkdir(parents=True, exist_ok=True)
    rest, metrics = Answers(), Answers()
    with (
        start(version, "scraped", slot=7) as lab,
        Prometheus(lab, lab.layout.folder / f"prometheus-{time.time():.0f}") as prometheus,
    ):
        time.sleep(RUNNING_S)
        until, cursor = time.time() + RECORDED_S, {}
        while time.time() < until:
            source = ClusterSource("lab", url=lab.url, metrics_interval_s=STEP_S)
            cursor = asyncio.run(collect_cluster(source, cursor, _now, on_answer=rest.take)).cursor
            time.sleep(STEP_S)
        alone = ClusterSource(
            "lab",
            prometheus=PrometheusSource(prometheus.url, prometheus.selector),
            metrics_interval_s=STEP_S,
        )
        found = asyncio.run(_read(alone, metrics))
    rest.save(folder / "rest.jsonl.gz")
    metrics.save(folder / "prometheus.jsonl.gz")
    return found


async def _read(source: ClusterSource, answers: Answers) -> SourceRead:
    assert source.prometheus
    async with client_of(source, source.prometheus.url, on_answer=answers.take) as client:
        return await read_metrics(client, source, {"until_s": int(time.time() - RECORDED_S)}, _now)


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", default=DEFAULT_VERSION)
    options = parser.parse_args()
    read = record(options.version, options.folder)
    print(
        f"{sum(len(part.records) for part in read.observed)} rows of {read.jobs_seen} jobs; "
        f"{read.error or 'no error'}"
    )
