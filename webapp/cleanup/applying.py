"""Carry out an approved plan: each file is checked again, named in the journal, moved to
quarantine, and accounted for.

1. Note every ``_metadata`` there is; audit everything afresh. Any doubt ends it before a file is
   touched.
2. Chunk by chunk: read checkpoints that appeared since; compare verdict, size, time; write the
   intent; move; write the effect.
3. Where a retained checkpoint of any root then misses a file of the plan, everything is put back,
   and that is the plan's end.
4. After a crash the next run does 1 again, settles the chunk that was open by looking where its
   files are, and goes on.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from datetime import timedelta
from functools import cached_property

from ingest.metadata.files import MetadataFile
from ingest.storage.instants import CLOCK_SKEW
from webapp.cleanup.errors import Halted, PutBack
from webapp.cleanup.file_names import name_of
from webapp.cleanup.hidden_needs import HiddenNeeds
from webapp.cleanup.interrupted_chunks import settle
from webapp.cleanup.journal import APPLY, UNDO, Row
from webapp.cleanup.manifest import instant_of
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.plan_reader import Chunk
from webapp.cleanup.quarantine import refuse_unsafe
from webapp.cleanup.recheck import FreshAudit, FreshVerdicts, Recheck, refuse_doubt
from webapp.cleanup.references import References, Storage, missed, references_in
from webapp.cleanup.run import Run
from webapp.cleanup.undoing import undo
from webapp.cleanup.watching import Reference, Watch
from webapp.cleanup.ways import by_way

RestoredFrom = Callable[[Set[str]], Set[Hashable]]
"""Restores, as far as they are known now, from checkpoints of these ``_metadata``."""
FRESH_FOR = timedelta(hours=6)
"""A plan that takes longer is audited again in between."""


class Applying:
    """One run of one approved plan, from where the journal ends."""

    def __init__(
        self,
        run: Run,
        recheck: Recheck,
        watch: Watch,
        storage: Storage | None = None,
        restored_from: RestoredFrom = lambda _: set(),
    ) -> None:
        self._run, self._recheck, self._watch, self._storage = (
            run,
            recheck,
            watch,
            storage or Storage(),
        )
        self._restored_from = restored_from
        self._restored: Set[Hashable] = frozenset()
        self._journal = run.journal(APPLY)
        self._quarantined: set[str] = set()
        self._fresh: FreshAudit | None = None
        self._fresh_verdicts: FreshVerdicts
        self._needs: HiddenNeeds
        self._references: References = {}
        self._names_checked: set[str] = set()

    def __call__(self) -> None:
        """Raises :class:`Halted` in doubt. What was done until then is in the journal, or was put
        back.
        """
        manifest = self._run.reader.manifest
        refuse_unsafe(manifest.roots, manifest.searched_roots)
        self._refuse_future()
        self._run.reader.verify()
        self._run.verify(self._journal)
        undone = self._run.journal(UNDO)
        if undone.done() or undone.begun():
            self._put_back("Putting back was interrupted")
        done = set(self._journal.done())
        for chunk in self._run.reader.chunks():
            if chunk.number in done:
                if chunk.is_metadata:
                    self._remember(chunk, self._journal.read(chunk.number).rows)
                continue
            self._refuse_expired()
            self._look_afresh()
            self._do(chunk)
        self._look_afresh()
        self._watch.look(at_once=True)
        self._refuse_missed(self._journal.done())

    def _do(self, chunk: Chunk) -> None:
        run = self._run
        files = run.planned(chunk)
        settled = {row.path: row for row in settle(run, self._journal, chunk.number, files)}
        self._watch.look()
        left = [file for file in files if file.path not in settled]
        objections = (
            self._fresh_verdicts.objections(
                left, metadata=chunk.is_metadata, quarantined=self._quarantined
            )
            if left
            else {}
        )
        # What only a checkpoint referred to that the plan has taken would go on its word of then.
        objections |= dict.fromkeys(self._needs.among(chunk), "it may be needed by now")
        stranger = next(
            (path for path in sorted(self._watch.appeared) if not self._needs.knows(path)), None
        )
        if stranger is not None:
            # Its needs beyond what it names are unchecked.
            why = f"{stranger} appeared in between, and may need it"
            objections |= dict.fromkeys(self._needs.among(chunk, of_any=True), why)
        going = []
        for file in left:
            refused = self._refusal(file, objections)
            if refused:
                settled[file.path] = refused
            else:
                going.append(file)
        ways = [(way, *way.look(own)) for way, own in by_way(run, going)]
        settled.update({row.path: row for _, _, rows in ways for row in rows})
        meant = {file.path: file.version for _, own, _ in ways for file in own}
        if meant:
            self._journal.intend(chunk.number, meant, run.at())
        settled.update({row.path: row for way, own, _ in ways for row in way.take(own)})
        rows = [settled[file.path] for file in files]
        run.finish(self._journal, APPLY, chunk.number, rows)
        if chunk.is_metadata:
            self._remember(chunk, rows)
        # A newer reference may lead to files moved long ago.
        self._refuse_missed(
            [chunk.number] if self._watched() <= self._names_checked else self._journal.done()
        )

    def _refusal(self, file: Planned, objections: dict[str, str]) -> Row | None:
        referrer = self._watch.referrer_of(file.path)
        if referrer:
            return self._run.row(file, FileOutcome.REFERRED, referrer)
        if file.path in objections:
            return self._run.row(file, FileOutcome.JUDGED_AGAIN, objections[file.path])
        references = self._references.get(name_of(file.path))
        if references:
            return self._run.row(file, FileOutcome.REFERRED, str(references[0]))
        return None

    def _remember(self, chunk: Chunk, rows: Sequence[Row]) -> None:
        """A checkpoint that stays, although planned, needs its files: they leave the plan."""
        planned = {file.path: file for file in self._run.planned(chunk)}
        for row in rows:
            if row.outcome == FileOutcome.QUARANTINED:
                self._quarantined.add(row.path)
            elif row.outcome != FileOutcome.GONE:
                self._watch.read(_metadata_of(planned[row.path]))

    def _refuse_future(self) -> None:
        for audit in self._run.reader.manifest.audits:
            if audit.as_of and instant_of(audit.as_of) > self._run.at() + CLOCK_SKEW:
                raise Halted(
                    f"Audit {audit.audit_id}, which the plan rests on, is of {audit.as_of}: yet to "
                    "come. Make a new plan."
                )

    def _refuse_expired(self) -> None:
        if self._run.at() >= instant_of(self._run.reader.manifest.expires_at):
            raise Halted("The plan expired before it was done; what is left is for a new plan.")

    def _look_afresh(self) -> None:
        """Before each chunk: repeats the search for references when it is too old. Refuses if a job
        was restored from planned files since.
        """
        manifest = self._run.reader.manifest
        while self._fresh is None or self._is_outdated(self._fresh):
            self._watch.begin()
            self._restored = self._restored_from(self._leaving)
            self._fresh = self._recheck.fresh()
            refuse_doubt(self._fresh, [root.uri for root in manifest.roots if root.files])
            attested = [statement.subject for statement in manifest.statements]
            self._fresh_verdicts, self._needs = (
                FreshVerdicts(self._fresh),
                HiddenNeeds(self._fresh, attested),
            )
            self._needs.refuse_inherited(sorted(self._quarantined))
            self._references = references_in(self._fresh, self._watch.planned, self._leaving)

    def _is_outdated(self, audit: FreshAudit) -> bool:
        return self._run.at() - audit.as_of > FRESH_FOR or bool(
            self._restored_from(self._leaving) - self._restored
        )

    @cached_property
    def _leaving(self) -> set[str]:
        """Waste checkpoints in the plan: their references protect no file."""
        parts = self._run.reader.manifest.metadata_parts
        return {
            path
            for number in range(parts)
            for path in self._run.reader.part(number)["path"].to_pylist()
        }

    def _watched(self) -> set[str]:
        return set(self._references) | set(self._watch.referred)

    def _refuse_missed(self, chunks: Iterable[int]) -> None:
        """Raises :class:`PutBack` if a checkpoint misses files that these chunks moved, under any
        name of their directory.
        """
        names = self._watched()
        if names:
            missing_references = {
                name: [*self._references.get(name, ()), *self._watch.references(name)]
                for name in names
            }
            rows = (row for chunk in chunks for row in self._journal.read(chunk).rows)
            taken: dict[str, set[str]] = {}
            for row in rows:
                if row.outcome == FileOutcome.QUARANTINED and (name := name_of(row.path)) in names:
                    place = row.quarantine or self._run.places.read_at(row.path)
                    taken.setdefault(name, set()).add(place)
            lost = missed(missing_references, taken, self._storage)
            if lost:
                self._put_back(_words(lost))
        self._names_checked = names

    def _put_back(self, why: str) -> None:
        undo(self._run)
        journal = self._run.journal(UNDO)
        left = sum(
            row.outcome not in (FileOutcome.RESTORED, FileOutcome.GONE)
            for chunk in journal.done()
            for row in journal.read(chunk).rows
        )
        kept = f", but for {left:,} that stay in quarantine; the journal says why" if left else ""
        raise PutBack(
            f"{why}. Everything that the plan had moved was put back{kept}. Look for a directory "
            "that has two names."
        )


def _metadata_of(file: Planned) -> MetadataFile:
    return MetadataFile(file.path, read_at=file.source, within=file.base)


def _words(lost: Sequence[Reference]) -> str:
    return (
        f"Retained checkpoints newly miss {len(lost):,} files that the plan had moved, such as "
        f"{lost[0]}"
    )
