"""``python -m tests.lab.starting_threads FOLDER``: what a real Flink answers about tasks that are
slow to start, and dumps of it.

Writes ``FOLDER/<version>.jsonl.gz``, one answer a line: of ``slow-restore`` its job, its vertices
and both TaskManagers, first while the first subtask of enrich has restored its state for ten
seconds, then when all tasks run.
"""

import sys
import time
from typing import Any

from tests.lab.answers import answer, parser, write
from tests.lab.cluster import Lab, LabFailed, start

INCIDENT, LONG_MS, TRIES = "slow-restore", 10_000, 400


def main(arguments: list[str]) -> int:
    options = parser("starting_threads", __doc__).parse_args(arguments)
    with start(options.version, INCIDENT, options.slot) as lab:
        lines = [*_when(lab, _is_restoring), *_when(lab, _all_run)]
    write(options.folder, options.version, lines)
    return 0


def _when(lab: Lab, wanted: Any) -> list[dict[str, Any]]:
    paths = [
        f"/jobs/{lab.job_id}/vertices/{vertex['id']}"
        for vertex in lab.get(f"/jobs/{lab.job_id}")["vertices"]
    ]
    for _ in range(TRIES):
        if wanted([one for path in paths for one in lab.get(path)["subtasks"]]):
            dumps = [
                f"/taskmanagers/{one['id']}/thread-dump"
                for one in lab.get("/taskmanagers")["taskmanagers"]
            ]
            return [answer(lab, path) for path in (*paths, *dumps)]
        time.sleep(0.5)
    raise LabFailed("Its tasks were never seen so.")


def _is_restoring(subtasks: list[dict[str, Any]]) -> bool:
    return any(
        one["status"] == "INITIALIZING" and one["status-duration"]["INITIALIZING"] > LONG_MS
        for one in subtasks
    )


def _all_run(subtasks: list[dict[str, Any]]) -> bool:
    return all(one["status"] == "RUNNING" for one in subtasks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
