"""``python -m tests.lab.flame_graphs FOLDER``: what a real Flink answers to requests for flame
graphs, for the tests of their parser.

Writes ``FOLDER/<version>.jsonl.gz``, one answer a line, with the incident that was played: first
those of ``busy-source``, where flame graphs are switched on (asked of two vertices until each type
was sampled), then one of a cluster where they are not.
"""

import sys
import time
from typing import Any

from tests.lab.answers import answer, parser, write
from tests.lab.cluster import Lab, LabFailed, start

SWITCHED_ON, SWITCHED_OFF = "busy-source", "hot-state"
TYPES = ("full", "on_cpu", "off_cpu")
SAMPLED_WITHIN_S = 90
AGAIN_AFTER_S = 3


def main(arguments: list[str]) -> int:
    options = parser("flame_graphs", __doc__).parse_args(arguments)
    lines: list[dict[str, Any]] = []
    for incident in (SWITCHED_ON, SWITCHED_OFF):
        with start(options.version, incident, options.slot) as lab:
            lab.wait_for(lambda account: account["counts"]["total"] > 0)
            lines += _asked(lab)
    write(options.folder, options.version, lines)
    return 0


def _asked(lab: Lab) -> list[dict[str, Any]]:
    job = f"/jobs/{lab.job_id}"
    vertices = [vertex["id"] for vertex in lab.get(job)["vertices"]]
    lines = [answer(lab, job)]
    for vertex, subtask in ((vertices[0], ""), (vertices[0], "&subtaskindex=0"), (vertices[1], "")):
        for kind in TYPES:
            deadline = time.monotonic() + SAMPLED_WITHIN_S
            while True:
                lines.append(
                    answer(lab, f"{job}/vertices/{vertex}/flamegraph?type={kind}{subtask}")
                )
                body = lines[-1]["body"]
                if "data" in body or body.get("endTimestamp") == -2 or lines[-1]["status"] != 200:
                    break
                if time.monotonic() > deadline:
                    raise LabFailed(f"No flame graph of {vertex} in {SAMPLED_WITHIN_S} s: {body}")
                time.sleep(AGAIN_AFTER_S)
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
