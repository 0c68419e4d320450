"""Recorded REST answers by path and recorded time, for servers that play a real Flink again."""

import bisect
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

RECORDINGS = Path(__file__).parent / "fixtures" / "recordings"

_SUBTASK_METRICS = re.compile(
    r"^(/jobs/[0-9a-f]{32}/vertices/[0-9a-f]{32})/subtasks/(\d+)/metrics$"
)
_VERTEX_METRICS = re.compile(r"^(/jobs/[0-9a-f]{32}/vertices/[0-9a-f]{32})/metrics$")


class Replay:
    """One recording. ``answer(path, at)`` gives what that Flink last said before ``at`` (epoch s),
    or first said after.

    Metrics are answered for whatever ids are asked; the recordings asked per subtask, Weir asks per
    vertex.
    """

    def __init__(self, recording: str) -> None:
        self.folder = RECORDINGS / recording
        self.answers: dict[str, list[tuple[float, int, Any]]] = {}
        self.metrics: dict[str, dict[str, list[tuple[float, str]]]] = {}
        with (self.folder / "rest.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                if entry.get("method", "GET") == "GET":
                    self._take(entry["ts"], entry["path"], entry["status"], entry["body"])
        self.first_at = min(times[0][0] for times in self.answers.values())
        self.last_at = max(times[-1][0] for times in self.answers.values())
        scenario = json.loads((self.folder / "scenario.json").read_text("utf-8"))
        self.job_ids: list[str] = [job["id"] for job in scenario["jobs"]]

    def answer(self, path: str, at: float) -> tuple[int, Any]:
        """(status, decoded body); 404 with Flink's error shape for what was never recorded."""
        parts = urlsplit(path)
        endpoint = unquote(parts.path)
        asked = parse_qs(parts.query).get("get", [""])[0]
        if asked and (endpoint in self.metrics or _VERTEX_METRICS.match(endpoint)):
            return 200, self._values(endpoint, asked.split(","), at)
        known = self.answers.get(endpoint)
        if not known:
            return 404, {"errors": [f"Not found: {endpoint}"]}
        _, status, body = known[
            max(0, bisect.bisect_right(known, at, key=lambda item: item[0]) - 1)
        ]
        return status, body

    def _take(self, ts: float, path: str, status: int, body: Any) -> None:
        endpoint, _, query = path.partition("?")
        endpoint = unquote(endpoint)
        if endpoint.endswith("/metrics"):
            subtask = _SUBTASK_METRICS.match(endpoint)
            owner = f"{subtask[1]}/metrics" if subtask else endpoint
            prefix = f"{subtask[2]}." if subtask else ""
            for metric in body if query and isinstance(body, list) else ():
                if "value" in metric:
                    self.metrics.setdefault(owner, {}).setdefault(prefix + metric["id"], []).append(
                        (ts, metric["value"])
                    )
            return
        times = self.answers.setdefault(endpoint, [])
        times.append((ts, status, body))
        times.sort(key=lambda item: item[0])

    def _values(self, endpoint: str, names: list[str], at: float) -> list[dict[str, str]]:
        found = []
        for name in names:
            values = [
                value for ts, value in self.metrics.get(endpoint, {}).get(name, ()) if ts <= at
            ]
            if values:
                found.append({"id": name, "value": values[-1]})
        return found
