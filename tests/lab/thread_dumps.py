"""``python -m tests.lab.thread_dumps FOLDER``: what a real Flink answers to requests for thread dumps, for the tests of their parser.

Writes ``FOLDER/<version>.jsonl.gz``, one answer a line, with the incident that was played. Of ``slow-sync`` both TaskManagers
are dumped while the synchronous part of a checkpoint takes its four seconds, and once more half a second later; of ``computing`` while
enrich computes.
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

INCIDENTS = ("slow-sync", "computing")
TRIES, AGAIN_AFTER_S = 60, 0.5


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    lines: list[dict[str, Any]] = []
    for incident in INCIDENTS:
        with start(options.version, incident, options.slot) as lab:
            lab.wait_for(lambda account: account["counts"]["completed"] > 0)
            if incident == "slow-sync":
                _wait_for_the_phase(lab)
            lines += _asked(lab)
    options.folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (options.folder / f"{options.version}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    return 0


def _wait_for_the_phase(lab: Lab) -> None:
    """Flink's own account of checkpoints is seconds old: what a thread does tells it."""
    for _ in range(TRIES):
        for path in _paths(lab):
            if ".snapshotState(Enrich.java" in json.dumps(lab.get(path)):
                return
        time.sleep(AGAIN_AFTER_S)
    raise LabFailed("No synchronous part of a checkpoint was seen.")


def _paths(lab: Lab) -> list[str]:
    return [f"/taskmanagers/{one['id']}/thread-dump" for one in lab.get("/taskmanagers")["taskmanagers"]]


def _asked(lab: Lab) -> list[dict[str, Any]]:
    job = lab.get(f"/jobs/{lab.job_id}")
    paths = _paths(lab)
    lines = [_answer(lab, path) for path in paths]
    time.sleep(AGAIN_AFTER_S)
    lines += [_answer(lab, path) for path in paths]
    lines += [_answer(lab, f"/jobs/{lab.job_id}")]
    lines += [_answer(lab, f"/jobs/{lab.job_id}/vertices/{vertex['id']}") for vertex in job["vertices"]]
    return [*lines, _answer(lab, "/taskmanagers/nobody/thread-dump")]


def _answer(lab: Lab, path: str) -> dict[str, Any]:
    told = {"incident": lab.incident.name, "ts": time.time(), "path": path}
    try:
        return {**told, "status": 200, "body": call(lab.url + path)}
    except urllib.error.HTTPError as error:
        return {**told, "status": error.code, "body": json.load(error)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.thread_dumps", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", choices=sorted(RELEASES), default=DEFAULT_VERSION)
    parser.add_argument("--slot", type=int, choices=range(5), default=4)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
