"""``python -m tests.lab.thread_dumps FOLDER``: what a real Flink answers to requests for thread
dumps, for the tests of their parser.

Writes ``FOLDER/<version>.jsonl.gz``, one answer a line, with the incident that was played. Of
``slow-sync`` both TaskManagers are dumped while the synchronous part of a checkpoint takes its four
seconds, and once more half a second later; of ``computing`` while enrich computes.
"""

import json
import sys
import time
from typing import Any

from tests.lab.answers import answer, parser, write
from tests.lab.cluster import Lab, LabFailed, start

INCIDENTS = ("slow-sync", "computing")
TRIES, AGAIN_AFTER_S = 60, 0.5


def main(arguments: list[str]) -> int:
    options = parser("thread_dumps", __doc__).parse_args(arguments)
    lines: list[dict[str, Any]] = []
    for incident in INCIDENTS:
        with start(options.version, incident, options.slot) as lab:
            lab.wait_for(lambda account: account["counts"]["completed"] > 0)
            if incident == "slow-sync":
                _wait_for_the_phase(lab)
            lines += _asked(lab)
    write(options.folder, options.version, lines)
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
    return [
        f"/taskmanagers/{one['id']}/thread-dump" for one in lab.get("/taskmanagers")["taskmanagers"]
    ]


def _asked(lab: Lab) -> list[dict[str, Any]]:
    job = lab.get(f"/jobs/{lab.job_id}")
    paths = _paths(lab)
    lines = [answer(lab, path) for path in paths]
    time.sleep(AGAIN_AFTER_S)
    lines += [answer(lab, path) for path in paths]
    lines += [answer(lab, f"/jobs/{lab.job_id}")]
    lines += [
        answer(lab, f"/jobs/{lab.job_id}/vertices/{vertex['id']}") for vertex in job["vertices"]
    ]
    return [*lines, answer(lab, "/taskmanagers/nobody/thread-dump")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
