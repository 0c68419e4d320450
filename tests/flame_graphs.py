"""What real Flinks answered to requests for flame graphs (``tests/fixtures/flame_graphs``), and
recounts of the raw answers.
"""

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures" / "flame_graphs"
VERSIONS = ("1.20.5", "2.3.0")
OF_FLINK = ("java.", "jdk.", "sun.", "org.apache.flink.", "root")


@cache
def answers(version: str) -> list[dict[str, Any]]:
    """In the order of asking: incident, path, status, body."""
    return [
        json.loads(line)
        for line in gzip.decompress((FOLDER / f"{version}.jsonl.gz").read_bytes()).splitlines()
    ]


def graphs(version: str, incident: str = "busy-source", kind: str = "full") -> list[dict[str, Any]]:
    """Answers with samples: of the source, of its first subtask, and of the vertex behind it."""
    asked = (
        one
        for one in answers(version)
        if one["incident"] == incident and f"flamegraph?type={kind}" in one["path"]
    )
    return [one for one in asked if "data" in one["body"]]


def stacks(body: dict[str, Any]) -> Counter[tuple[str, ...]]:
    """Each stack of methods, outermost first, and how many samples ended with it."""
    found: Counter[tuple[str, ...]] = Counter()

    def walk(node: dict[str, Any], above: tuple[str, ...]) -> None:
        here = (*above, node["name"].rsplit(":", 1)[0])
        ended = node["value"] - sum(child["value"] for child in node["children"])
        if ended:
            found[here] += ended
        for child in node["children"]:
            walk(child, here)

    walk(body["data"], ())
    return found


def own_methods(body: dict[str, Any]) -> Counter[str]:
    """How many samples have each method as the innermost one of the job's own."""
    counted: Counter[str] = Counter()
    for stack, samples in stacks(body).items():
        own = [name for name in stack if not name.startswith(OF_FLINK)]
        if own:
            counted[own[-1]] += samples
    return counted
