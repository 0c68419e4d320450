"""What analyses add to a report: those with trouble to tell, each its verdict and its first
table.
"""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import join_messages, message
from webapp.analyses import document as analysed
from webapp.analyses.registry import all_analyses
from webapp.analyses.values import NUMERIC, shown
from webapp.fleet.models import JobCurrent
from webapp.reports import texts
from webapp.reports.document import Table

MOST_ROWS = 20
TROUBLED: frozenset[analysed.Tone] = frozenset({"warn", "crit"})


def tables(job: JobCurrent, since: datetime, until: datetime, now: datetime) -> Iterator[Table]:
    for analysis in all_analyses().values():
        if not analysis.in_report:
            continue
        document = analysis.answer(job, analysed.Asked(since, until, now))
        if document.verdict.tone in TROUBLED:
            yield _table(analysis.title, document)


def _table(title: str, document: analysed.Document) -> Table:
    sentence = texts.bounded(document.verdict.sentence, texts.PARAGRAPH)
    first_table = next((table for table in document.tables if table.rows), None)
    if first_table is None:
        return Table(title, (), (), note=sentence)
    numeric = tuple(at for at, column in enumerate(first_table.columns) if column.unit in NUMERIC)
    rows = tuple(
        tuple(
            texts.bounded(shown(value, column.unit))
            for value, column in zip(row, first_table.columns, strict=True)
        )
        for row in first_table.rows[:MOST_ROWS]
    )
    cut = (first_table.total or len(first_table.rows)) - len(rows)
    more = (
        message("{cut:count} more are on the page {title:name}.", cut=cut, title=title)
        if cut
        else ""
    )
    note = join_messages([sentence, more], " ")
    return Table(title, tuple(column.name for column in first_table.columns), rows, numeric, note)
