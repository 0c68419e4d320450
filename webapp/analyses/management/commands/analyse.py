from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandError

from ingest.uris import BadUri
from webapp.analyses.api import answer_data
from webapp.analyses.declaration import Analysis, Subject
from webapp.analyses.document import Advice, Block, Document, Facts, Inputs, Note, NotKnown, Table
from webapp.analyses.inputs import inputs_for_fleet, inputs_for_job, inputs_for_root
from webapp.analyses.presentation import MOST_ROWS, value_text
from webapp.analyses.registry import all_analyses
from webapp.config.preparation import PreparedCommand
from webapp.fleet.rows_command import job_named
from webapp.lib.filter_sets import ListFilters, WrongParameters
from webapp.lib.printing import print_document, print_lines
from webapp.storage.orphan_proof import find_figures

WIDEST_COLUMN = 60
"""Characters. A longer cell is printed whole, and moves the rest of its line to the right."""


class Command(PreparedCommand):
    help = (
        "Print an analysis of a job, of a ROOT of checkpoint storage as of its newest audit, or with "
        "--fleet of all jobs: verdict, figures and tables. With --json, print the document of the "
        "API. Without NAME, list the analyses. Exit code 0, or 2 if the job, the root, the "
        "analysis or an option is unknown."
    )

    refusals = (BadUri,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "of",
            metavar="CLUSTER|ROOT",
            nargs="?",
            help="a cluster, followed by JOB; or the URI of a root as in Flink",
        )
        parser.add_argument(
            "job",
            metavar="JOB",
            nargs="?",
            help="id of the job, or its name if it is unique; omit it for a root",
        )
        parser.add_argument(
            "name", metavar="NAME", nargs="?", help="such as starts; without it, all are listed"
        )
        parser.add_argument(
            "--fleet", metavar="NAME", help="an analysis of all jobs, such as resources"
        )
        parser.add_argument(
            "--set",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="a parameter of the analysis",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        answer = _answer(options)
        if answer is None:
            print_lines(self.stdout, _list_analyses())
            return
        analysis, inputs, document = answer
        if options["json"]:
            print_document(self.stdout, answer_data(analysis, inputs, document))
        else:
            print_lines(self.stdout, document_lines(document))


def _answer(options: Mapping[str, Any]) -> tuple[Analysis, Inputs, Document] | None:
    """``None`` if the options name no analysis."""
    cluster_or_root, job_or_name, name = options["of"], options["job"], options["name"]
    arguments: tuple[Any, ...]
    if options["fleet"]:
        analysis = _find_analysis("fleet", options["fleet"])
        arguments = (inputs_for_fleet(_parameters(analysis, options["set"])),)
    elif name is None and job_or_name and "/" in cluster_or_root:
        analysis, figures = _find_analysis("root", job_or_name), find_figures(cluster_or_root)
        arguments = figures, inputs_for_root(figures, _parameters(analysis, options["set"]))
    elif name is None:
        return None
    else:
        analysis, job = _find_analysis("job", name), job_named(cluster_or_root, job_or_name)
        arguments = job, inputs_for_job(job, _parameters(analysis, options["set"]))
    return analysis, arguments[-1], analysis.answer(*arguments)


def _find_analysis(subject: Subject, name: str) -> Analysis:
    analyses = all_analyses(subject)
    if name not in analyses:
        names = ", ".join(analyses)
        raise CommandError(f"No analysis is called {name}. There are: {names}.", returncode=2)
    return analyses[name]


_BEFORE_NAMES: dict[Subject, str] = {"job": "", "root": "ROOT ", "fleet": "--fleet "}


def _list_analyses() -> Iterator[str]:
    for subject, before in _BEFORE_NAMES.items():
        for name, analysis in all_analyses(subject).items():
            yield f"{before + name:18} {analysis.title}: {analysis.summary}"
            for parameter_name, parameter in analysis.parameters.parameters().items():
                yield f"{'':18} --set {parameter_name}=…  {parameter.about}"


def _parameters(analysis: Analysis, texts: list[str]) -> ListFilters:
    values: Mapping[str, str] = dict(text.partition("=")[::2] for text in texts)
    declared = analysis.parameters.parameters()
    if unknown := sorted(values.keys() - declared.keys()):
        raise CommandError(
            f"{analysis.name} has no {', '.join(unknown)}. There are: "
            f"{', '.join(declared) or 'none'}.",
            returncode=2,
        )
    return checked_parameters(analysis, values)


def checked_parameters(analysis: Analysis, values: Mapping[str, str]) -> ListFilters:
    try:
        return analysis.checked(values)
    except WrongParameters as wrong:
        raise CommandError(str(wrong), returncode=2) from None


def document_lines(document: Document) -> Iterator[str]:
    yield f"{document.verdict.shape} {document.verdict.sentence}"
    for block in document.blocks:
        yield from _block_lines(block)


def _block_lines(block: Block) -> Iterator[str]:
    if isinstance(block, Facts):
        for fact in block.facts:
            note = f" ({fact.note})" if fact.note else ""
            yield f"  {fact.name}: {value_text(fact.value, fact.unit)}{note}"
    elif isinstance(block, Table):
        yield from _table_lines(block)
    elif isinstance(block, Advice):
        yield from (f"* {line}" for line in block.lines)
    elif isinstance(block, Note):
        yield block.text
    elif isinstance(block, NotKnown):
        yield f"? {block.reason}"


def _table_lines(table: Table) -> Iterator[str]:
    yield ""
    yield f"{table.title}{f' ({table.subtitle})' if table.subtitle else ''}"
    names = [column.name for column in table.columns]
    units = [column.unit for column in table.columns]
    rows = [list(map(value_text, row, units)) for row in table.rows[:MOST_ROWS]]
    if not rows:
        yield f"  {table.empty or 'none'}"
        return
    widths = [
        min(max(map(len, column)), WIDEST_COLUMN) for column in zip(names, *rows, strict=True)
    ]
    for row in (names, *rows):
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
    if len(table.rows) > len(rows):
        yield f"  {len(rows)} of {len(table.rows):,}, all of them with --json"
