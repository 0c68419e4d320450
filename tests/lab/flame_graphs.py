"""``python -m tests.lab.flame_graphs FOLDER``: what a real Flink answers to requests for flame graphs, for the tests of their parser.

Writes ``FOLDER/<version>.jsonl.gz``, one answer a line, with the incident that was played: first those of ``busy-source``, where
flame graphs are switched on (asked of two vertices until each type was sampled), then one of a cluster where they are not.
"""

import argparse
import gzip
import json
import sys
import time
import urllib.error
from pathlib import Path
from typing import Any

from tests.lab.cluster import Lab, LabFailed, start
from tests.lab.releases import DEFAULT_VERSION, RELEASES
from tests.lab.rest import call

SWITCHED_ON, SWITCHED_OFF = "busy-source", "hot-state"
TYPES = ("full", "on_cpu", "off_cpu")
SAMPLED_WITHIN_S = 90
AGAIN_AFTER_S = 3


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    lines: list[dict[str, Any]] = []
    for incident in (SWITCHED_ON, SWITCHED_OFF):
        with start(options.version, incident, options.slot) as lab:
            lab.wait_for(lambda account: account["counts"]["total"] > 0)
            lines += _asked(lab)
    options.folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (options.folder / f"{options.version}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    return 0


def _asked(lab: Lab) -> list[dict[str, Any]]:
    job = f"/jobs/{lab.job_id}"
    vertices = [vertex["id"] for vertex in lab.get(job)["vertices"]]
    lines = [_answer(lab, job)]
    for vertex, subtask in ((vertices[0], ""), (vertices[0], "&subtaskindex=0"), (vertices[1], "")):
        for kind in TYPES:
            deadline = time.monotonic() + SAMPLED_WITHIN_S
            while True:
                lines.append(_answer(lab, f"{job}/vertices/{vertex}/flamegraph?type={kind}{subtask}"))
                body = lines[-1]["body"]
                if "data" in body or body.get("endTimestamp") == -2 or lines[-1]["status"] != 200:
                    break
                if time.monotonic() > deadline:
                    raise LabFailed(f"No flame graph of {vertex} in {SAMPLED_WITHIN_S} s: {body}")
                time.sleep(AGAIN_AFTER_S)
    return lines


def _answer(lab: Lab, path: str) -> dict[str, Any]:
    told = {"incident": lab.incident.name, "ts": time.time(), "path": path}
    try:
        return {**told, "status": 200, "body": call(lab.url + path)}
    except urllib.error.HTTPError as error:
        return {**told, "status": error.code, "body": json.load(error)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.flame_graphs", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", choices=sorted(RELEASES), default=DEFAULT_VERSION)
    parser.add_argument("--slot", type=int, choices=range(5), default=4)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
