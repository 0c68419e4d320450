"""Declarations of analyses. A module of ``webapp.analyses.job`` declares an analysis of a job::

    @analysis("threads", title="Threads", summary="…", tab="runtime")
    def threads(job: JobCurrent, inputs: Inputs) -> Document: ...

    @threads.draws("states")
    def states(job: JobCurrent, inputs: Inputs) -> Drawn: ...

Its page, URL, link on the job page, API, OpenAPI document, command and report section follow.

A module of ``webapp.analyses.fleet`` declares an analysis of all jobs: ``subject="fleet"``, a
function of ``inputs`` alone. It may only show clusters that the reader may see: models return only
these, rows of the lake must be filtered with ``scopes.current().holds(cluster)``.

A module of ``webapp.analyses.root`` declares an analysis of a root of checkpoint storage:
``subject="root"``, a function of its newest audit, ``(figures: RootFigures, inputs)``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ingest.messages import message
from webapp.analyses.document import Document, Drawn
from webapp.lib.filter_sets import ListFilters

Subject = Literal["job", "fleet", "root"]
Tab = Literal["checkpoints", "pressure", "state", "runtime", "more"]
Answer = Callable[..., Document]
Draw = Callable[..., Drawn]


@dataclass(frozen=True)
class Action:
    """A button for operators if the job runs. ``address``: URL name of a view that takes a POST."""

    address: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", message(self.text))


@dataclass
class Analysis:
    """``name`` is used in URLs and commands. ``is_slow``: the page loads the answer afterwards. Only
    analyses of jobs use ``tab``, ``in_report`` and ``action``.
    """

    name: str
    title: str
    summary: str
    answer: Answer
    subject: Subject
    tab: Tab
    parameters: type[ListFilters]
    in_report: bool
    is_slow: bool
    action: Action | None
    charts: dict[str, Draw] = field(default_factory=dict)

    def checked(self, values: Mapping[str, str]) -> ListFilters:
        """Parse values of the parameters. Raises ``WrongParameters``."""
        parameters = self.parameters(values)
        parameters.check()
        return parameters

    def draws(self, key: str) -> Callable[[Draw], Draw]:
        """Decorate the function that draws the document's ``Chart`` of this key."""

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
    subject: Subject = "job",
    tab: Tab = "more",
    parameters: type[ListFilters] = ListFilters,
    in_report: bool = False,
    is_slow: bool = False,
    action: Action | None = None,
) -> Callable[[Answer], Analysis]:
    """A reloaded module may repeat its declaration; two modules may not share a name."""

    def declare(answer: Answer) -> Analysis:
        previous = DECLARED[subject].get(name)
        if previous and previous.answer.__module__ != answer.__module__:
            raise ValueError(f"Two analyses are called {name}.")
        declaration = Analysis(
            name,
            message(title),
            message(summary),
            answer,
            subject,
            tab,
            parameters,
            in_report,
            is_slow,
            action,
        )
        DECLARED[subject][name] = declaration
        return declaration

    return declare
