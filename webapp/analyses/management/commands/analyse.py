"""Print an analysis of a job, or of the fleet."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.analyses.api import answered, answered_of_fleet
from webapp.analyses.document import Advice, Asked, Block, Document, Facts, Note, NotKnown, Table
from webapp.analyses.presentation import MOST_SHOWN
from webapp.analyses.registry import Analysis, FleetAnalysis, all_analyses, all_fleet_analyses
from webapp.analyses.values import shown
from webapp.config.preparation import PreparedCommand
from webapp.fleet.job_lookup import whole_life
from webapp.fleet.models import JobCurrent
from webapp.fleet.rows_command import job_named
from webapp.lib.filter_sets import ListFilters, WrongParameters
from webapp.lib.printing import print_document, print_lines

LONGEST_CELL = 60


class Command(PreparedCommand):
    help = (
        "Print an analysis of a job, or with --fleet of all jobs: its verdict, figures and tables, or with --json the document of "
        "the API. "
        "Without a NAME the analyses that there are. Exit code 0, or 2 where the job, the analysis or an option is unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?")
        parser.add_argument("job", metavar="JOB", nargs="?", help="its id, or its name where one job has it")
        parser.add_argument("name", metavar="NAME", nargs="?", help="such as starts; without it all are listed")
        parser.add_argument("--fleet", metavar="NAME", help="an analysis of all jobs, such as resources")
        parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the analysis")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["fleet"]:
            self._of_fleet(_called(options["fleet"], all_fleet_analyses()), options)
            return
        if options["name"] is None:
            print_lines(self.stdout, _listed())
            return
        analysis = _called(options["name"], all_analyses())
        job = job_named(options["cluster"], options["job"])
        parameters = _parameters(analysis, options["set"])
        if options["json"]:
            print_document(self.stdout, answered(analysis, job, parameters))
        else:
            print_lines(self.stdout, _lines(analysis, job, parameters))

    def _of_fleet(self, analysis: FleetAnalysis, options: Mapping[str, Any]) -> None:
        parameters = _parameters(analysis, options["set"])
        if options["json"]:
            print_document(self.stdout, answered_of_fleet(analysis, parameters))
            return
        now = timezone.now()
        print_lines(self.stdout, _of_document(analysis.answer(Asked(now, now, now, parameters))))


AnalysisT = TypeVar("AnalysisT", Analysis, FleetAnalysis)


def _called(name: str, known: Mapping[str, AnalysisT]) -> AnalysisT:
    if name not in known:
        names = ", ".join(known)
        raise CommandError(f"No analysis is called {name}. There are: {names}.", returncode=2)
    return known[name]


def _listed() -> Iterator[str]:
    every: list[Analysis | FleetAnalysis] = [*all_analyses().values()]
    for one in [*every, *all_fleet_analyses().values()]:
        name = f"--fleet {one.name}" if isinstance(one, FleetAnalysis) else one.name
        yield f"{name:18} {one.title}: {one.summary}"
        for name, parameter in one.parameters.parameters().items():
            yield f"{'':18} --set {name}=…  {parameter.about}"


def _parameters(analysis: Analysis | FleetAnalysis, given: list[str]) -> ListFilters:
    values: Mapping[str, str] = dict(one.partition("=")[::2] for one in given)
    known = analysis.parameters.parameters()
    if unknown := sorted(values.keys() - known.keys()):
        raise CommandError(f"{analysis.name} has no {', '.join(unknown)}. There are: {', '.join(known) or 'none'}.", returncode=2)
    parameters = analysis.parameters(values)
    try:
        parameters.check()
    except WrongParameters as wrong:
        raise CommandError(str(wrong), returncode=2) from None
    return parameters


def _lines(analysis: Analysis, job: JobCurrent, parameters: ListFilters) -> Iterator[str]:
    at = job.last_seen_at or job.as_of
    asked = Asked(whole_life(job, at).from_time, at, timezone.now(), parameters)
    yield from _of_document(analysis.answer(job, asked))


def _of_document(document: Document) -> Iterator[str]:
    yield f"{document.verdict.shape} {document.verdict.sentence}"
    for block in document.blocks:
        yield from _of_block(block)


def _of_block(block: Block) -> Iterator[str]:
    if isinstance(block, Facts):
        for fact in block.facts:
            yield f"  {fact.name}: {shown(fact.value, fact.unit)}{f' ({fact.note})' if fact.note else ''}"
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Advice):
        yield from (f"* {line}" for line in block.lines)
    elif isinstance(block, Note):
        yield block.text
    elif isinstance(block, NotKnown):
        yield f"? {block.reason}"


def _table(table: Table) -> Iterator[str]:
    yield ""
    yield f"{table.title}{f' ({table.subtitle})' if table.subtitle else ''}"
    names = [column.name for column in table.columns]
    rows = [
        [shown(value, column.unit)[:LONGEST_CELL] for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows[:MOST_SHOWN]
    ]
    if not rows:
        yield f"  {table.empty or 'none'}"
        return
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    for row in (names, *rows):
        yield "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    if len(table.rows) > len(rows):
        yield f"  {len(rows)} of {len(table.rows):,}, all of them with --json"
