"""One agent on one question: it calls tools until it answers, or until its budget of calls ends the
play.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

MOST_CALLS = 20


class Tools(Protocol):
    """``described``: name, description and JSON Schema of the arguments of each tool."""

    described: list[dict[str, Any]]

    def call(self, name: object, arguments: object) -> tuple[dict[str, Any], bool]:
        """The answer, and whether it is an error."""


@dataclass(frozen=True)
class Task:
    """What an agent is told. ``job``: empty where it must find out which one is in trouble."""

    cluster: str
    job: str = ""


@dataclass(frozen=True)
class Call:
    tool: object
    arguments: object


@dataclass(frozen=True)
class Told:
    answer: dict[str, Any]
    is_error: bool = False


@dataclass(frozen=True)
class Answer:
    """``cause``: one of ``CAUSES``. What the agent does not blame is None."""

    cause: str
    vertex: str | None = None
    subtask: int | None = None
    host: str | None = None
    next_step: str = ""


Steps = Generator[Call, Told, Answer | None]
Agent = Callable[[Task, Tools], Steps]
"""Yields its calls, is sent what they tell, and returns its answer, None where it has none."""


@dataclass(frozen=True)
class Play:
    told: tuple[Told, ...]
    answer: Answer | None


def play(agent: Agent, task: Task, tools: Tools, most_calls: int = MOST_CALLS) -> Play:
    told: list[Told] = []
    steps = agent(task, tools)
    try:
        call = next(steps)
        while len(told) < most_calls:
            told.append(Told(*tools.call(call.tool, call.arguments)))
            call = steps.send(told[-1])
    except StopIteration as ended:
        return Play(tuple(told), ended.value)
    steps.close()
    return Play(tuple(told), None)


def answer_of(said: Mapping[str, Any]) -> Answer | None:
    """What a program wrote, None where it is no answer."""
    subtask = said.get("subtask")
    if not isinstance(said.get("cause"), str) or not (subtask is None or type(subtask) is int):
        return None
    texts = {name: str(said[name]) for name in ("vertex", "host", "next_step") if said.get(name)}
    return Answer(said["cause"], subtask=subtask, **texts)
