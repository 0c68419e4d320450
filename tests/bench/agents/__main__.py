"""``python -m tests.bench.agents``: all plays, in an empty Weir home (``WEIR_HOME``). Prints one
JSON object a play.
"""

# ruff: noqa: E402 - Django must be set up before its models are imported
import json
import os
from collections import defaultdict
from dataclasses import asdict

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")

import django

django.setup()

from tests.bench.agents.command import VARIABLE, by_command
from tests.bench.agents.play import Play, Task, play
from tests.bench.agents.questions import QUESTIONS, Question
from tests.bench.agents.raw_tools import RawTools
from tests.bench.agents.recorded import Recorded, recorded
from tests.bench.agents.scoring import score
from tests.bench.agents.scripted import by_raw, by_weir
from tests.bench.agents.weir_tools import watched

Moment = tuple[str, float | None]


def main() -> None:
    agents = {"scripted agent": {"weir": by_weir, "raw": by_raw}}
    if command := os.environ.get(VARIABLE):
        agents["command"] = dict.fromkeys(("weir", "raw"), by_command(command))
    for number, (past, questions) in enumerate(_moments(), 1):
        name = f"c{number}"
        tools = {"weir": watched(past, name), "raw": RawTools(past)}
        for question in questions:
            task = Task(name, past.others.get(question.job, ""))
            for agent, by_tools in agents.items():
                for kind, steps in by_tools.items():
                    _tell(f"{agent}, {kind}", question, play(steps, task, tools[kind]))


def _moments() -> list[tuple[Recorded, list[Question]]]:
    """What is asked of each, in order of time: no Weir's clock goes back."""
    asked: dict[Moment, list[Question]] = defaultdict(list)
    for question in QUESTIONS:
        asked[question.recording, question.after_s].append(question)
    pasts = [(recorded(*moment), questions) for moment, questions in asked.items()]
    return sorted(pasts, key=lambda past: past[0].at)


def _tell(by: str, question: Question, played: Play) -> None:
    named = f"{question.recording} {question.job}".strip()
    answer = asdict(played.answer) if played.answer else None
    told = {"by": by, "question": named, "answer": answer, **asdict(score(question, played))}
    print(json.dumps(told, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
