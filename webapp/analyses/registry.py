"""Which analyses there are. A module of ``webapp.analyses.job`` declares one::

    @analysis("in-flight", title=message("In flight"), summary=message("…"), tab="pressure")
    def in_flight(job: JobCurrent, asked: Asked) -> Document: ...

    @in_flight.draws("persisted")
    def persisted(job: JobCurrent, asked: Asked) -> Drawn: ...

Page, address, link on the job page, API, OpenAPI document, command and report section follow from it.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Literal

from webapp.analyses import job as declared
from webapp.analyses.document import Asked, Document, Drawn
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters

Tab = Literal["checkpoints", "pressure", "state", "runtime", "more"]
Answer = Callable[[JobCurrent, Asked], Document]
Draw = Callable[[JobCurrent, Asked], Drawn]


@dataclass
class Analysis:
    """``name`` stands in addresses and commands. ``parameters``: what a reader may set.

    ``is_slow``: its page comes at once, and what it answers after it.
    """

    name: str
    title: str
    summary: str
    tab: Tab
    answer: Answer
    parameters: type[ListFilters] = ListFilters
    in_report: bool = False
    is_slow: bool = False
    charts: dict[str, Draw] = field(default_factory=dict)

    def draws(self, key: str) -> Callable[[Draw], Draw]:
        """The chart of this key in its document."""

        def declare(draw: Draw) -> Draw:
            self.charts[key] = draw
            return draw

        return declare


_DECLARED: dict[str, Analysis] = {}


def analysis(
    name: str,
    *,
    title: str,
    summary: str,
    tab: Tab,
    parameters: type[ListFilters] = ListFilters,
    in_report: bool = False,
    is_slow: bool = False,
) -> Callable[[Answer], Analysis]:
    def declare(answer: Answer) -> Analysis:
        if name in _DECLARED and _DECLARED[name].answer.__module__ != answer.__module__:
            raise ValueError(f"Two analyses are called {name}.")
        made = Analysis(name, title, summary, tab, answer, parameters, in_report, is_slow)
        _DECLARED[name] = made
        return made

    return declare


@cache
def _imported() -> None:
    for module in pkgutil.iter_modules(declared.__path__, f"{declared.__name__}."):
        import_module(module.name)


def all_analyses() -> Mapping[str, Analysis]:
    """By name, in the order of the alphabet."""
    _imported()
    return dict(sorted(_DECLARED.items()))
