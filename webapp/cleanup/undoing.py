"""Puts back all files that are still in quarantine, the ``_metadata`` of checkpoints last."""

from collections.abc import Sequence
from dataclasses import replace

from webapp.cleanup.interrupted_chunks import close_open_chunks
from webapp.cleanup.journal import APPLY, UNDO, Journal
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.plan_reader import Chunk
from webapp.cleanup.quarantine import refuse_unsafe
from webapp.cleanup.run import Run
from webapp.cleanup.ways import each_way


def undo(run: Run) -> None:
    """Continues where the journal ends. If another file has taken the place of a file, both stay,
    and the outcome is ``OCCUPIED``. Raises :class:`Halted` at the end if files could not be put
    back.
    """
    refuse_unsafe(run.reader.manifest.roots, run.reader.manifest.searched_roots)
    applied, undone = run.journal(APPLY), run.journal(UNDO)
    run.verify(applied)
    run.verify(undone)
    close_open_chunks(run)
    remaining = set(applied.finished_chunks()) - set(undone.finished_chunks())
    for chunk in run.reader.chunks(backwards=True):
        if chunk.number in remaining:
            _undo(run, undone, chunk, quarantined_files(run, applied, chunk))
    run.refuse_not_done()
    for folder in run.places.folders:
        run.files.remove_empty(folder)


def quarantined_files(run: Run, applied: Journal, chunk: Chunk) -> list[Planned]:
    rows = {
        row.path: row
        for row in applied.read(chunk.number).rows
        if row.outcome == FileOutcome.QUARANTINED
    }
    return [
        replace(file, version=row.version, markers=row.markers or ())
        for file in run.planned(chunk)
        if (row := rows.get(file.path))
    ]


def _undo(run: Run, journal: Journal, chunk: Chunk, files: Sequence[Planned]) -> None:
    interrupted = journal.intents(chunk.number)
    if files:
        journal.write_intent(chunk.number, {file.path: file.version for file in files}, run.at())
    rows = each_way(run, list(reversed(files)), lambda way, group: way.put_back(group, interrupted))
    run.finish(journal, UNDO, chunk.number, rows)
