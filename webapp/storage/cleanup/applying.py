"""Carry out an approved plan: each file is checked again, named in the journal, moved to quarantine, and accounted for.

1. Note every ``_metadata`` there is; audit everything afresh. Any doubt ends it before a file is touched.
2. Chunk by chunk: read checkpoints that appeared since; compare verdict, size, time; write the intent; move; write the effect.
3. After a crash the next run does 1 again, settles the chunk that was open by looking where its files are, and goes on.
"""

from collections.abc import Sequence
from datetime import timedelta

from ingest.metadata.files import MetadataFile
from ingest.storage.tree import Changed, Gone
from webapp.storage.cleanup.errors import Halted
from webapp.storage.cleanup.journal import Journal, Row
from webapp.storage.cleanup.manifest import instant_of
from webapp.storage.cleanup.outcomes import Outcome
from webapp.storage.cleanup.places import Planned
from webapp.storage.cleanup.quarantine import refuse_unsafe
from webapp.storage.cleanup.reading import Chunk
from webapp.storage.cleanup.rechecking import Anew, FreshAudit, Recheck, refuse_doubt
from webapp.storage.cleanup.run import APPLY, Run
from webapp.storage.cleanup.watching import Watch

FRESH_FOR = timedelta(hours=6)
"""A plan that takes longer is audited again in between."""


class Applying:
    """One run of one approved plan, from where the journal ends."""

    def __init__(self, run: Run, recheck: Recheck, watch: Watch) -> None:
        self._run, self._recheck, self._watch = run, recheck, watch
        self._journal = run.journal(APPLY)
        self._quarantined: set[str] = set()
        self._fresh: FreshAudit | None = None
        self._anew: Anew

    def __call__(self) -> None:
        """Raises :class:`Halted` where doubt arises; what was done until then is in the journal."""
        manifest = self._run.reader.manifest
        refuse_unsafe(manifest.roots, manifest.searched_roots)
        self._run.reader.verify()
        done = set(self._journal.done())
        if len(done) == manifest.chunks:
            return
        for chunk in self._run.reader.chunks():
            if chunk.number in done:
                if chunk.is_metadata:
                    self._remember(chunk, self._journal.read(chunk.number).rows)
                continue
            self._check_time()
            self._do(chunk)

    def _do(self, chunk: Chunk) -> None:
        run = self._run
        files = run.planned(chunk)
        settled = {row.path: row for row in settle(run, self._journal, chunk.number, files)}
        self._watch.look()
        left = [file for file in files if file.path not in settled]
        objections = self._anew.objections(left, metadata=chunk.is_metadata, quarantined=self._quarantined) if left else {}
        going = []
        for file in left:
            refused = self._refusal(file, objections)
            if refused:
                settled[file.path] = refused
            else:
                going.append(file)
        if going:
            self._journal.intend(chunk.number, [file.path for file in going], run.at())
            settled.update({row.path: row for row in run.each(going, self._move)})
        rows = [settled[file.path] for file in files]
        run.finish(self._journal, APPLY, chunk.number, rows)
        if chunk.is_metadata:
            self._remember(chunk, rows)

    def _refusal(self, file: Planned, objections: dict[str, str]) -> Row | None:
        referrer = self._watch.referrer_of(file.path)
        if referrer:
            return self._run.row(file, Outcome.REFERRED, referrer)
        if file.path in objections:
            return self._run.row(file, Outcome.JUDGED_ANEW, objections[file.path])
        return None

    def _move(self, file: Planned) -> Row:
        run = self._run
        if run.files.is_behind_link(file.base, file.source):
            return run.row(file, Outcome.LINKED)
        try:
            run.files.move(file.source, file.target, file.stat)
        except Gone:
            return run.row(file, Outcome.GONE)
        except Changed as error:
            return run.row(file, Outcome.CHANGED, str(error))
        return run.row(file, Outcome.QUARANTINED)

    def _remember(self, chunk: Chunk, rows: Sequence[Row]) -> None:
        """A checkpoint that stayed although it was to go needs its files: they leave the plan."""
        planned = {file.path: file for file in self._run.planned(chunk)}
        for row in rows:
            if row.outcome == Outcome.QUARANTINED:
                self._quarantined.add(row.path)
            elif row.outcome != Outcome.GONE:
                self._watch.read(MetadataFile(row.path, read_at=planned[row.path].source))

    def _check_time(self) -> None:
        """Before each chunk: the plan has not expired, and the last look at everything is not too old."""
        now, manifest = self._run.at(), self._run.reader.manifest
        if now >= instant_of(manifest.expires_at):
            raise Halted("The plan expired before it was done; what is left is for a new plan.")
        if self._fresh is None or now - self._fresh.as_of > FRESH_FOR:
            self._watch.begin()
            self._fresh = self._recheck.fresh()
            refuse_doubt(self._fresh, [root.uri for root in manifest.roots if root.files])
            self._anew = Anew(self._fresh)


def settle(run: Run, journal: Journal, chunk: int, files: Sequence[Planned]) -> list[Row]:
    """What an interrupted try already did to the files it intended; the others are to be decided anew.

    A file is moved where it is in quarantine and no longer at its source. Where the same file is at both, the move had not
    ended: the one in quarantine is taken away, and the file at its source is decided anew.
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
            rows.append(run.row(file, Outcome.QUARANTINED, detail))
    return rows


def close_open_chunks(run: Run) -> None:
    """Account for the files of an interrupted chunk without going on: before an undo or a purge."""
    journal = run.journal(APPLY)
    begun = set(journal.begun())
    for chunk in run.reader.chunks():
        if chunk.number in begun:
            files = run.planned(chunk)
            moved = {row.path: row for row in settle(run, journal, chunk.number, files)}
            rows = [moved.get(file.path) or run.row(file, Outcome.NOT_REACHED) for file in files]
            run.finish(journal, APPLY, chunk.number, rows)
