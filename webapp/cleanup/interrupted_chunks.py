"""Chunks that were interrupted: what was done to their files is found by looking where they are."""

from collections.abc import Sequence

from webapp.cleanup.journal import APPLY, Journal, Row
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.run import Run


def settle(run: Run, journal: Journal, chunk: int, files: Sequence[Planned]) -> list[Row]:
    """What an interrupted try already did to the files it intended; the others are to be decided
    again.

    A file is moved where it is in quarantine and no longer at its source. Where the same file is at
    both, the move had not ended: the one in quarantine is taken away, and the file at its source is
    decided again.
    """
    intended = set(journal.intents(chunk))
    rows = []
    for file in files:
        if file.path not in intended:
            continue
        copied, source = run.files.stat(file.target), run.files.stat(file.source)
        if copied is None:
            continue
        if source is not None and source in (file.stat, copied):
            run.still_mine()
            run.files.delete(file.target, copied)
        else:
            detail = None if source is None else "another file has since taken its place"
            rows.append(run.row(file, FileOutcome.QUARANTINED, detail))
    return rows


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
