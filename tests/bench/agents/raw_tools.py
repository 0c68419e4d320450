"""What an agent has without Weir: Flink's REST API and a search in its logs, as recorded."""

import json
from typing import Any

from tests.bench.agents.recorded import STAMP, Recorded
from webapp.site.agents.tools import MOST_CHARACTERS

MOST_PATHS = 100
STAMP_CHARS = 23


def _described(name: str, about: str, argument: str, meaning: str) -> dict[str, Any]:
    properties = {argument: {"type": "string", "description": meaning}}
    schema = {"type": "object", "properties": properties, "required": [argument]}
    return {"name": name, "description": about, "input_schema": schema}


class RawTools:
    """Answers are as long as Weir's at most."""

    described = [
        _described(
            "rest",
            "GET of Flink's REST API of the cluster: the newest answer. Of a path without one, those "
            "that begin with it are listed.",
            "path",
            "such as /jobs/overview",
        ),
        _described(
            "logs",
            "Lines of all logs of the cluster with any of some texts, the newest last.",
            "texts",
            "separated by |, such as ' WARN | ERROR '",
        ),
    ]

    def __init__(self, recorded: Recorded) -> None:
        good = (one for one in recorded.answers if one["status"] == 200)
        self._bodies = {one["path"]: one["body"] for one in good}
        self._logs = recorded.logs

    def call(self, name: object, arguments: object) -> tuple[dict[str, Any], bool]:
        match name, arguments:
            case "rest", {"path": str() as path} if path in self._bodies:
                return {"body": json.dumps(self._bodies[path])[:MOST_CHARACTERS]}, False
            case "rest", {"path": str() as path}:
                known = [one[:200] for one in self._bodies if one.startswith(path)]
                return {"error": "not found", "known": known[:MOST_PATHS]}, True
            case "logs", {"texts": str() as texts}:
                return {"lines": self._lines(texts.split("|"))}, False
        return {"error": f"There is no such tool: {name}"}, True

    def _lines(self, texts: list[str]) -> str:
        found = []
        for name, log in self._logs.items():
            stamp = ""
            for line in log.splitlines():
                if STAMP.match(line):
                    stamp = line
                if any(text in line for text in texts):
                    found.append((stamp[:STAMP_CHARS], f"{name}: {line}"))
        lines = [line for _, line in sorted(found, key=lambda one: one[0])]
        return "\n".join(lines)[-MOST_CHARACTERS:]
