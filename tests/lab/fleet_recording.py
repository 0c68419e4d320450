"""Play an incident as clusters of fleets are, and record it every way at once.

python -m tests.lab.fleet_recording INCIDENT FOLDER [--version 2.3.0] [--in-high-availability]

Writes ``FOLDER/<version>/<incident>/``: what ``python -m ingest record`` leaves of REST and plain
logs, packed; ``pods/``: what the processes printed, JSON in CRI's envelope; ``prometheus.json.gz``:
every series that a real Prometheus scraped, of the metrics that Weir reads; ``gauges.json.gz``: by
job, what it answered where Weir asks it to put those of subtasks together.
"""

import argparse
import contextlib
import gzip
import json
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ingest.prometheus.gauges import GAUGE_NAMES, gauges_query
from ingest.prometheus.names import JOB_NAMES, TASK_NAMES, TASKMANAGER_NAMES, selector
from tests.lab import high_availability
from tests.lab.cluster import Lab, started
from tests.lab.incidents import INCIDENTS
from tests.lab.prometheus import Prometheus
from tests.lab.recording import pack, play_and_record, tell_how
from tests.lab.releases import DEFAULT_VERSION, RELEASES

STEP_S = 10
"""Between two samples of a series, which was scraped every two seconds."""


def record(lab: Lab, folder: Path, seconds: int, every_s: int = STEP_S) -> None:
    """Of a lab that is up: all that it says until then, by each way."""
    beside = lab.layout.folder.parent / f"prometheus-{lab.layout.folder.name}"
    with Prometheus(lab, beside) as prometheus:
        began = time.time()
        play_and_record(lab, folder, seconds, every_s)
        for log in lab.layout.pods.rglob("*.log"):
            kept = folder / "pods" / log.relative_to(lab.layout.pods)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, kept)
        span = (began, time.time())
        of_subtasks = [
            selector(names, prometheus.selector)
            for names in (JOB_NAMES, TASK_NAMES, TASKMANAGER_NAMES, [GAUGE_NAMES])
        ]
        series = [one for query in of_subtasks for one in samples(prometheus, query, *span)]
        gauges = {
            job_id: samples(prometheus, gauges_query(prometheus.selector, job_id), *span)
            for job_id in jobs_of(series)
        }
    for name, found in (("prometheus", series), ("gauges", gauges)):
        (folder / f"{name}.json.gz").write_bytes(
            gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0)
        )
    for path in (
        folder / "rest.jsonl",
        *(folder / "logs").iterdir(),
        *(folder / "pods").rglob("*.log"),
    ):
        pack(path)
    tell_how(lab, folder, seconds=seconds, every_s=every_s, step_s=STEP_S)


def samples(prometheus: Prometheus, query: str, began: float, ended: float) -> list[dict[str, Any]]:
    """As ``query_range`` answers, at multiples of the step."""
    span = {
        "start": int(began) // STEP_S * STEP_S,
        "end": int(ended) // STEP_S * STEP_S,
        "step": STEP_S,
    }
    asked = urlencode({"query": query, **span})
    with urllib.request.urlopen(
        f"{prometheus.url}/api/v1/query_range?{asked}", timeout=60
    ) as answer:
        found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    return found


def jobs_of(series: list[dict[str, Any]]) -> list[str]:
    return sorted({one["metric"]["job_id"] for one in series if "job_id" in one["metric"]})


@contextlib.contextmanager
def playing(
    version: str, incident: str, slot: int, folder: Path, in_high_availability: bool
) -> Iterator[Lab]:
    """A cluster of a fleet, up and with its job."""
    if in_high_availability:
        with high_availability.start(folder, version, incident, slot, as_fleet=True) as (
            lab,
            _ensemble,
        ):
            yield lab
        return
    with started(Lab(version, incident, slot, folder / incident, as_fleet=True)) as alone:
        yield alone


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab.fleet_recording", description=__doc__
    )
    parser.add_argument("incident", choices=sorted(INCIDENTS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", choices=sorted(RELEASES), default=DEFAULT_VERSION)
    parser.add_argument("--seconds", type=int, default=130)
    parser.add_argument("--slot", type=int, choices=range(40), default=30)
    parser.add_argument("--in-high-availability", action="store_true")
    parser.add_argument(
        "--at", type=Path, required=True, help="a folder for what the cluster writes"
    )
    options = parser.parse_args(arguments)
    shutil.rmtree(options.at, ignore_errors=True)
    folder = options.folder / options.version / options.incident
    shutil.rmtree(folder, ignore_errors=True)
    with playing(
        options.version, options.incident, options.slot, options.at, options.in_high_availability
    ) as lab:
        record(lab, folder, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
