from collections.abc import Sequence

from webapp.cleanup.journal import APPLY, Journal, Row
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.run import Run
from webapp.cleanup.ways import each_way


def settle(run: Run, journal: Journal, chunk: int, files: Sequence[Planned]) -> list[Row]:
    """Rows of files that an interrupted try already treated; the others are decided again."""
    intended = journal.intents(chunk)
    meant = [file for file in files if file.path in intended]
    return each_way(run, meant, lambda way, own: way.settle(own, intended))


def close_open_chunks(run: Run) -> None:
    """Account for the files of an interrupted chunk without going on: before an undo or a purge."""
    journal = run.journal(APPLY)
    begun = set(journal.begun())
    for chunk in run.reader.chunks():
        if chunk.number in begun:
            files = run.planned(chunk)
            moved = {row.path: row for row in settle(run, journal, chunk.number, files)}
            rows = [
                moved.get(file.path) or run.row(file, FileOutcome.NOT_REACHED) for file in files
            ]
            run.finish(journal, APPLY, chunk.number, rows)
