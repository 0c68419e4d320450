"""The declaration of an analysis. A module of ``webapp.analyses.job`` declares one::

    @analysis("threads", title=message("Threads"), summary=message("…"), tab="runtime")
    def threads(job: JobCurrent, inputs: Inputs) -> Document: ...

    @threads.draws("states")
    def states(job: JobCurrent, inputs: Inputs) -> Drawn: ...

Page, address, link on the job page, API, OpenAPI document, command and report section follow from
it.

A module of ``webapp.analyses.fleet`` declares an analysis of all jobs, with ``of="fleet"`` and
``inputs`` alone. It may only show clusters that the reader may see: models are restricted to these,
rows of the lake must be filtered with ``scopes.current().holds(cluster)``.

A module of ``webapp.analyses.root`` declares one of a root of checkpoint storage, with ``of="root"``.
It gets the newest audit instead of the job: ``(figures: RootFigures, inputs)``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from webapp.analyses.document import Document, Drawn
from webapp.lib.filter_sets import ListFilters

Subject = Literal["job", "fleet", "root"]
Tab = Literal["checkpoints", "pressure", "state", "runtime", "more"]
Answer = Callable[..., Document]
Draw = Callable[..., Drawn]


@dataclass(frozen=True)
class Action:
    """A button for operators, for running jobs: ``address`` is the name of a view that takes the
    parameters by POST.
    """

    address: str
    text: str


@dataclass
class Analysis:
    """``name`` is used in addresses and commands. ``parameters``: those a reader may set.
    ``is_slow``: its page loads the answer afterwards. ``tab``, ``in_report`` and ``action`` are
    used for jobs only.
    """

    name: str
    title: str
    summary: str
    answer: Answer
    of: Subject
    tab: Tab
    parameters: type[ListFilters]
    in_report: bool
    is_slow: bool
    action: Action | None
    charts: dict[str, Draw] = field(default_factory=dict)

    def checked(self, values: Mapping[str, str]) -> ListFilters:
        """Its parameters with these values. Raises ``WrongParameters``."""
        parameters = self.parameters(values)
        parameters.check()
        return parameters

    def draws(self, key: str) -> Callable[[Draw], Draw]:
        """The chart of this key in its document."""

        def declare(draw: Draw) -> Draw:
            self.charts[key] = draw
            return draw

        return declare


DECLARED: dict[Subject, dict[str, Analysis]] = {"job": {}, "fleet": {}, "root": {}}


def analysis(
    name: str,
    *,
    title: str,
    summary: str,
    of: Subject = "job",
    tab: Tab = "more",
    parameters: type[ListFilters] = ListFilters,
    in_report: bool = False,
    is_slow: bool = False,
    action: Action | None = None,
) -> Callable[[Answer], Analysis]:
    """A reloaded module may declare again; two modules may not share a name."""

    def declare(answer: Answer) -> Analysis:
        known = DECLARED[of].get(name)
        if known and known.answer.__module__ != answer.__module__:
            raise ValueError(f"Two analyses are called {name}.")
        declared = Analysis(
            name, title, summary, answer, of, tab, parameters, in_report, is_slow, action
        )
        DECLARED[of][name] = declared
        return declared

    return declare
