"""Programs as agents, by the protocol that ``command.py`` describes."""

import shlex
import sys
import time
from typing import Any

import pytest

from tests.bench.agents.command import by_command
from tests.bench.agents.play import Answer, Play, Task, Told, play

ANSWERS = """
import json, sys
task = json.loads(input())
print(json.dumps({"call": task["tools"][0]["name"], "arguments": {"of": task["job"]}}), flush=True)
host = json.loads(input())["told"]["host"]
print(json.dumps({"cause": max(task["causes"]), "host": host, "subtask": 1}), flush=True)
"""
ASKS_FOR_EVER = """
while True:
    input()
    print('{"call": "where"}', flush=True)
"""
SILENT = "import time; time.sleep(600)"


class Where:
    described = [{"name": "where", "description": "", "input_schema": {}}]

    def call(self, name: object, arguments: object) -> tuple[dict[str, Any], bool]:
        return {"host": "tm-7", "asked": [name, arguments]}, False


def played(program: str, seconds: float = 30) -> Play:
    command = shlex.join([sys.executable, "-c", program])
    return play(by_command(command, seconds), Task("c", "orders"), Where(), most_calls=3)


def test_a_program_asks_and_answers() -> None:
    assert played(ANSWERS) == Play(
        (Told({"host": "tm-7", "asked": ["where", {"of": "orders"}]}),),
        Answer("write_stall", subtask=1, host="tm-7"),
    )


def test_a_program_that_asks_for_ever_is_ended_by_its_budget() -> None:
    ended = played(ASKS_FOR_EVER)
    assert (len(ended.told), ended.answer) == (3, None)


def test_a_program_that_says_nothing_is_ended_by_its_time() -> None:
    began = time.monotonic()
    assert played(SILENT, seconds=0.5) == Play((), None)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "said", ["", "no json", "[]", "{}", '{"cause": 3}', '{"cause": "x", "subtask": "1"}']
)
def test_whatever_else_a_program_says_is_no_answer(said: str) -> None:
    assert played(f"print({said!r})") == Play((), None)
