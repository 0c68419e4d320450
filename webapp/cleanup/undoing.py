"""Put everything back that is still in quarantine, the ``_metadata`` of checkpoints after their
files.

A checkpoint returns as whole as it left. What others removed meanwhile from its directory is not
Weir's to bring back: the next audit reports it as a missing reference.
"""

from collections.abc import Sequence

from ingest.storage.tree import Occupied
from webapp.cleanup.interrupted_chunks import close_open_chunks
from webapp.cleanup.journal import APPLY, UNDO, Journal, Row
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.plan_reader import Chunk
from webapp.cleanup.quarantine import refuse_unsafe
from webapp.cleanup.run import Run


def undo(run: Run) -> None:
    """From where the journal ends.

    A place that another file has taken stays as it is, and the row says so.
    """
    refuse_unsafe(run.reader.manifest.roots, run.reader.manifest.searched_roots)
    applied, journal = run.journal(APPLY), run.journal(UNDO)
    for file in (applied, journal):
        run.verify(file)
    close_open_chunks(run)
    wanted, done = set(applied.done()), set(journal.done())
    for chunk in run.reader.chunks(backwards=True):
        if chunk.number in wanted and chunk.number not in done:
            _undo(run, journal, chunk, quarantined(run, applied, chunk))
    for folder in run.places.folders:
        run.files.remove_empty(folder)


def quarantined(run: Run, applied: Journal, chunk: Chunk) -> list[Planned]:
    """Files of the chunk that were moved.

    Which ones is in the journal; where they are follows from the plan.
    """
    moved = {
        row.path
        for row in applied.read(chunk.number).rows
        if row.outcome == FileOutcome.QUARANTINED
    }
    return [file for file in run.planned(chunk) if file.path in moved]


def _undo(run: Run, journal: Journal, chunk: Chunk, files: Sequence[Planned]) -> None:
    tried = set(journal.intents(chunk.number))
    if files:
        journal.intend(chunk.number, [file.path for file in files], run.at())
    rows = run.each(
        list(reversed(files)), lambda file: _put_back(run, file, was_tried=file.path in tried)
    )
    run.finish(journal, UNDO, chunk.number, rows)


def _put_back(run: Run, file: Planned, *, was_tried: bool) -> Row:
    run.refuse_linked(file)
    kept, source = run.files.stat(file.target), run.files.stat(file.source)
    if kept is None:
        restored = was_tried and source is not None and source.bytes == file.bytes
        return run.row(file, FileOutcome.RESTORED if restored else FileOutcome.GONE)
    if source is not None and not (
        was_tried and source == kept
    ):  # else a move that was cut off: repeating it ends it
        return run.row(
            file, FileOutcome.OCCUPIED, f"{source.bytes} bytes, modified {source.modified}"
        )
    if run.files.is_behind_link(file.base, file.source):
        return run.row(file, FileOutcome.OCCUPIED, "its directory is a link by now")
    try:
        run.files.move(file.target, file.source, kept)
    except Occupied as error:
        return run.row(file, FileOutcome.OCCUPIED, str(error))
    return run.row(file, FileOutcome.RESTORED)
