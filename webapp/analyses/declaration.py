"""The declaration of an analysis. A module of ``webapp.analyses.job`` declares one::

    @analysis("threads", title=message("Threads"), summary=message("…"), tab="runtime")
    def threads(job: JobCurrent, inputs: Inputs) -> Document: ...

    @threads.draws("states")
    def states(job: JobCurrent, inputs: Inputs) -> Drawn: ...

Page, address, link on the job page, API, OpenAPI document, command and report section follow from
it.

An analysis of the whole fleet is declared by a module of ``webapp.analyses.fleet``, with
``fleet_analysis`` and without a job. It may only show clusters that the reader may see: models are
restricted to these, rows of the lake must be filtered with ``scopes.current().holds(cluster)``.

One of a root of checkpoint storage is declared by a module of ``webapp.analyses.root``, with
``root_analysis`` and gets the newest audit instead of the job: ``(figures: RootFigures, inputs)``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from webapp.analyses.document import Document, Drawn, Inputs
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters
from webapp.storage.models import RootFigures

Tab = Literal["checkpoints", "pressure", "state", "runtime", "more"]
Answer = Callable[[JobCurrent, Inputs], Document]
Draw = Callable[[JobCurrent, Inputs], Drawn]
FleetAnswer = Callable[[Inputs], Document]
FleetDraw = Callable[[Inputs], Drawn]
RootAnswer = Callable[[RootFigures, Inputs], Document]
RootDraw = Callable[[RootFigures, Inputs], Drawn]
AnswerT = TypeVar("AnswerT")
DrawT = TypeVar("DrawT")


@dataclass
class Declaration(Generic[AnswerT, DrawT]):
    """``name`` is used in addresses and commands. ``parameters``: those a reader may set.
    ``is_slow``: its page loads the answer afterwards.
    """

    name: str
    title: str
    summary: str
    answer: AnswerT
    parameters: type[ListFilters] = ListFilters
    is_slow: bool = False
    charts: dict[str, DrawT] = field(default_factory=dict)

    def checked(self, values: Mapping[str, str]) -> ListFilters:
        """Its parameters with these values. Raises ``WrongParameters``."""
        parameters = self.parameters(values)
        parameters.check()
        return parameters

    def draws(self, key: str) -> Callable[[DrawT], DrawT]:
        """The chart of this key in its document."""

        def declare(draw: DrawT) -> DrawT:
            self.charts[key] = draw
            return draw

        return declare


@dataclass(frozen=True)
class Action:
    """A button for operators, for running jobs: ``address`` is the name of a view that takes the
    parameters by POST.
    """

    address: str
    text: str


@dataclass
class Analysis(Declaration[Answer, Draw]):
    tab: Tab = "more"
    in_report: bool = False
    action: Action | None = None


@dataclass
class FleetAnalysis(Declaration[FleetAnswer, FleetDraw]):
    """An analysis of all jobs that the reader may see. Its page is named ``fleet-<name>``."""


@dataclass
class RootAnalysis(Declaration[RootAnswer, RootDraw]):
    """An analysis of one root, as of its newest audit. Its page is named ``storage-<name>``."""


DeclarationT = TypeVar("DeclarationT", bound=Declaration[Any, Any])
OF_JOB: dict[str, Analysis] = {}
OF_FLEET: dict[str, FleetAnalysis] = {}
OF_ROOT: dict[str, RootAnalysis] = {}


def analysis(
    name: str,
    *,
    title: str,
    summary: str,
    tab: Tab,
    parameters: type[ListFilters] = ListFilters,
    in_report: bool = False,
    is_slow: bool = False,
    action: Action | None = None,
) -> Callable[[Answer], Analysis]:
    return lambda answer: _add(
        OF_JOB,
        Analysis(
            name,
            title,
            summary,
            answer,
            parameters,
            is_slow,
            tab=tab,
            in_report=in_report,
            action=action,
        ),
    )


def fleet_analysis(
    name: str,
    *,
    title: str,
    summary: str,
    parameters: type[ListFilters] = ListFilters,
    is_slow: bool = False,
) -> Callable[[FleetAnswer], FleetAnalysis]:
    return lambda answer: _add(
        OF_FLEET, FleetAnalysis(name, title, summary, answer, parameters, is_slow)
    )


def root_analysis(
    name: str,
    *,
    title: str,
    summary: str,
    parameters: type[ListFilters] = ListFilters,
    is_slow: bool = False,
) -> Callable[[RootAnswer], RootAnalysis]:
    return lambda answer: _add(
        OF_ROOT, RootAnalysis(name, title, summary, answer, parameters, is_slow)
    )


def _add(registry: dict[str, DeclarationT], declared: DeclarationT) -> DeclarationT:
    """A reloaded module may declare again; two modules may not share a name."""
    known = registry.get(declared.name)
    if known and known.answer.__module__ != declared.answer.__module__:
        raise ValueError(f"Two analyses are called {declared.name}.")
    registry[declared.name] = declared
    return declared
