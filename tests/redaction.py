"""The spellings of secrets, and the honest texts that look like them, as every door's tests take
them.
"""

import json
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "fixtures" / "redaction"


@dataclass(frozen=True)
class Spelling:
    """``text`` with ``secrets`` in it; ``keeps`` is what a reader still has to see."""

    name: str
    text: str
    secrets: tuple[str, ...]
    keeps: tuple[str, ...]

    def leaks_in(self, told: str) -> list[str]:
        return [secret for secret in self.secrets if secret in told]


def _lines(name: str) -> list[str]:
    return (_FOLDER / name).read_text("utf-8").splitlines()


SPELLINGS = [
    Spelling(raw["name"], raw["text"], tuple(raw["secrets"]), tuple(raw["keeps"]))
    for raw in map(json.loads, _lines("secrets.jsonl"))
]
HONEST: list[str] = [json.loads(line) for line in _lines("honest.jsonl")]
