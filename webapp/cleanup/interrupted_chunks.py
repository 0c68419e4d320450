from collections.abc import Sequence

from webapp.cleanup.journal import APPLY, Journal, Row
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.run import Run
from webapp.cleanup.ways import each_way


def settle(run: Run, journal: Journal, chunk: int, files: Sequence[Planned]) -> list[Row]:
    """Rows of files that an interrupted attempt treated; all others are decided again."""
    intents = journal.intents(chunk)
    intended = [file for file in files if file.path in intents]
    return each_way(run, intended, lambda way, of_root: way.settle(of_root, intents))


def close_open_chunks(run: Run) -> None:
    """Journal the files of interrupted chunks without moving more, before an undo or a purge."""
    journal = run.journal(APPLY)
    open_chunks = set(journal.open_chunks())
    for chunk in run.reader.chunks():
        if chunk.number in open_chunks:
            files = run.planned(chunk)
            moved = {row.path: row for row in settle(run, journal, chunk.number, files)}
            rows = [
                moved.get(file.path) or run.row(file, FileOutcome.NOT_REACHED) for file in files
            ]
            run.finish(journal, APPLY, chunk.number, rows)
