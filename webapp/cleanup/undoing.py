"""Put everything back that is still in quarantine, the ``_metadata`` of checkpoints after their
files.

Files that others removed from the checkpoint's directory meanwhile do not return: the next audit
reports them as missing.
"""

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
    """Continues from the end of the journal. A place taken by another file stays as it is, and the
    row says so.
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
    """Files of the chunk that were taken. The journal says which, with versions; the plan says
    where they are.
    """
    taken = {
        row.path: row
        for row in applied.read(chunk.number).rows
        if row.outcome == FileOutcome.QUARANTINED
    }
    return [
        replace(file, version=row.version, markers=row.markers or ())
        for file in run.planned(chunk)
        if (row := taken.get(file.path))
    ]


def _undo(run: Run, journal: Journal, chunk: Chunk, files: Sequence[Planned]) -> None:
    tried = journal.intents(chunk.number)
    if files:
        journal.intend(chunk.number, {file.path: file.version for file in files}, run.at())
    rows = each_way(run, list(reversed(files)), lambda way, own: way.put_back(own, tried))
    run.finish(journal, UNDO, chunk.number, rows)
