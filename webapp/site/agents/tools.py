"""Declares a tool: its name, texts and arguments, and the function that answers. An answer is JSON
of at most ``MOST_CHARACTERS``; ``left_out`` says which lists were cut. Texts that come from a job
(its name, exceptions, log lines) are wrapped as ``quoted``, so that nobody takes them for
instructions.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from inspect import Parameter, signature
from typing import Any

from django.conf import settings

from webapp.analyses.presentation import plain

MOST_CHARACTERS = 12_000
MOST_TEXT = 600
FEWEST_ROWS = 3
LONGEST_ARGUMENT = 2_000


class Unanswerable(Exception):
    """The question cannot be answered; the text says what to ask instead."""


@dataclass(frozen=True)
class Tool:
    """``arguments``: name → description. An argument is optional if ``answer`` has a default for
    it.
    """

    name: str
    title: str
    about: str
    arguments: Mapping[str, str]
    answer: Callable[..., dict[str, Any]]

    @property
    def required(self) -> list[str]:
        parameters = signature(self.answer).parameters
        return [name for name in self.arguments if parameters[name].default is Parameter.empty]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, which are texts."""
        return {
            "type": "object",
            "properties": {
                name: {"type": "string", "description": about, "maxLength": LONGEST_ARGUMENT}
                for name, about in self.arguments.items()
            },
            "required": self.required,
            "additionalProperties": False,
        }


TOOLS: dict[str, Tool] = {}


def tool(
    name: str, title: str, about: str, arguments: Mapping[str, str]
) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    def declare(answer: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        TOOLS[name] = Tool(name, title, about, arguments, answer)
        return answer

    return declare


def call(tools: Mapping[str, Tool], name: object, arguments: object) -> dict[str, Any]:
    """Raises :class:`Unanswerable`."""
    chosen = tools.get(name) if isinstance(name, str) else None
    if chosen is None:
        raise Unanswerable(f"There is no such tool. There are: {', '.join(tools)}.")
    values = {} if arguments is None else arguments
    if not isinstance(values, Mapping) or not all(
        isinstance(value, str) and len(value) <= LONGEST_ARGUMENT for value in values.values()
    ):
        raise Unanswerable("Arguments are an object of texts.")
    required = chosen.required
    if not all(values.get(name) for name in required) or values.keys() - chosen.arguments.keys():
        raise Unanswerable(
            f"{chosen.name} needs {', '.join(required) or 'no argument'} and takes "
            f"{', '.join(sorted(chosen.arguments.keys() - set(required))) or 'nothing else'}."
        )
    texts = {
        name: value.encode(errors="replace").decode().replace("\x00", "")
        for name, value in values.items()
        if value
    }
    return bounded(chosen.answer(**texts))


def quoted(text: str | None) -> dict[str, str] | None:
    """Wraps a text of a job or its log."""
    return None if text is None else {"quoted": text}


def link(path: str) -> str:
    return f"{settings.WEIR.public_url}{path}"


def bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """``answer`` as JSON data within ``MOST_CHARACTERS``; ``left_out`` says what was cut."""
    for rows in (50, 20, 10, 5, FEWEST_ROWS):
        left_out: list[str] = []
        shortened: dict[str, Any] = _cut(answer, rows, "", left_out)
        if left_out:
            shortened["left_out"] = left_out[:10]
        if len(json.dumps(shortened, ensure_ascii=False)) <= MOST_CHARACTERS:
            return shortened
    return {"left_out": ["everything: the answer is too long; ask for less"]}


def _cut(value: Any, rows: int, path: str, left_out: list[str]) -> Any:
    match value:
        case datetime():
            return plain(value)
        case Mapping():
            return {
                str(name): _cut(inner, rows, f"{path}.{name}".lstrip("."), left_out)
                for name, inner in value.items()
            }
        case list() | tuple():
            if len(value) > rows:
                left_out.append(f"{path}: {len(value) - rows} of {len(value)}")
            return [_cut(inner, rows, path, left_out) for inner in value[:rows]]
        case None | bool() | int() | float():
            return value
        case _:
            text = str(value)
            return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
