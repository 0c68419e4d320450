"""Print an analysis of a job."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.analyses.api import answered
from webapp.analyses.document import Advice, Asked, Block, Facts, Note, NotKnown, Table
from webapp.analyses.registry import Analysis, all_analyses
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
        "Print an analysis of a job: its verdict, figures and tables, or with --json the document of the API. "
        "Without a NAME the analyses that there are. Exit code 0, or 2 where the job, the analysis or an option is unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?")
        parser.add_argument("job", metavar="JOB", nargs="?", help="its id, or its name where one job has it")
        parser.add_argument("name", metavar="NAME", nargs="?", help="such as starts; without it all are listed")
        parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the analysis")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["name"] is None:
            print_lines(self.stdout, _listed())
            return
        analysis = all_analyses().get(options["name"])
        if analysis is None:
            names = ", ".join(all_analyses())
            raise CommandError(f"No analysis is called {options['name']}. There are: {names}.", returncode=2)
        job = job_named(options["cluster"], options["job"])
        parameters = _parameters(analysis, options["set"])
        if options["json"]:
            print_document(self.stdout, answered(analysis, job, parameters))
        else:
            print_lines(self.stdout, _lines(analysis, job, parameters))


def _listed() -> Iterator[str]:
    for one in all_analyses().values():
        yield f"{one.name:18} {one.title}: {one.summary}"
        for name, parameter in one.parameters.parameters().items():
            yield f"{'':18} --set {name}=…  {parameter.about}"


def _parameters(analysis: Analysis, given: list[str]) -> ListFilters:
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
    document = analysis.answer(job, Asked(whole_life(job, at).from_time, at, timezone.now(), parameters))
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
    rows = [[shown(value, column.unit)[:LONGEST_CELL] for value, column in zip(row, table.columns, strict=True)] for row in table.rows]
    if not rows:
        yield f"  {table.empty or 'none'}"
        return
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    for row in (names, *rows):
        yield "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
