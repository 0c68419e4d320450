"""Applies an approved plan: each file is checked again, written to the journal, and moved.

1. List all ``_metadata``, then audit everything afresh. A doubt stops the plan: no further file
   is moved.
2. Chunk by chunk: read checkpoints that appeared since; compare verdict, size, time; write the
   intent; move; write the effect.
3. If a retained checkpoint of any root then misses a file of the plan, everything is put back, and
   the plan ends.
4. After a crash, the next run repeats step 1, finds the files of the interrupted chunk, and
   continues.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from datetime import datetime, timedelta
from functools import cached_property

from ingest.metadata.files import MetadataFile
from ingest.storage.instants import CLOCK_SKEW
from ingest.storage.tree import TreeError
from webapp.cleanup.errors import Halted, PutBack
from webapp.cleanup.file_names import name_of
from webapp.cleanup.hidden_needs import HiddenNeeds
from webapp.cleanup.interrupted_chunks import settle
from webapp.cleanup.journal import APPLY, UNDO, Row
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.plan_reader import Chunk
from webapp.cleanup.quarantine import refuse_unsafe
from webapp.cleanup.recheck import FreshAudit, FreshVerdicts, Recheck, refuse_doubt
from webapp.cleanup.references import References, Storage, missed_references, references_in
from webapp.cleanup.run import Run
from webapp.cleanup.undoing import undo
from webapp.cleanup.watching import Reference, Watch
from webapp.cleanup.ways import Mechanism, by_way

RestoredFrom = Callable[[Set[str]], Set[Hashable]]
"""``_metadata`` paths → known restores from these checkpoints (:mod:`webapp.cleanup.restores`)."""
FRESH_FOR = timedelta(hours=6)


class Applying:
    def __init__(
        self,
        run: Run,
        recheck: Recheck,
        watch: Watch,
        storage: Storage | None = None,
        restored_from: RestoredFrom = lambda _: set(),
    ) -> None:
        self._run, self._recheck, self._watch = run, recheck, watch
        self._storage, self._restored_from = storage or Storage(), restored_from
        self._restored: Set[Hashable] = frozenset()
        self._journal = run.journal(APPLY)
        self._quarantined: set[str] = set()
        self._fresh: FreshAudit | None = None
        self._fresh_verdicts: FreshVerdicts
        self._needs: HiddenNeeds
        self._references: References = {}
        self._names_checked: set[str] = set()

    def __call__(self) -> None:
        """Applies the plan; raises :class:`Halted` in doubt."""
        manifest = self._run.reader.manifest
        refuse_unsafe(manifest.roots, manifest.searched_roots)
        self._refuse_future()
        self._run.reader.verify()
        self._run.verify(self._journal)
        undo_journal = self._run.journal(UNDO)
        if undo_journal.finished_chunks() or undo_journal.open_chunks():
            self._put_back("Putting back was interrupted")
        finished = set(self._journal.finished_chunks())
        for chunk in self._run.reader.chunks():
            if chunk.number in finished:
                if chunk.is_metadata:
                    self._remember(chunk, self._journal.read(chunk.number).rows)
                continue
            self._refuse_expired()
            self._audit_again()
            self._treat(chunk)
        self._audit_again()
        self._watch.look(at_once=True)
        self._refuse_missed(self._journal.finished_chunks())

    def _treat(self, chunk: Chunk) -> None:
        run = self._run
        files = run.planned(chunk)
        settled = {row.path: row for row in settle(run, self._journal, chunk.number, files)}
        self._watch.look()
        unsettled = [file for file in files if file.path not in settled]
        objections = self._objections(chunk, unsettled)
        accepted = []
        for file in unsettled:
            refusal = self._refusal(file, objections)
            if refusal:
                settled[file.path] = refusal
            else:
                accepted.append(file)
        ways = [(way, *way.look(of_root)) for way, of_root in by_way(run, accepted)]
        settled.update({row.path: row for _, _, rows in ways for row in rows})
        versions = {file.path: file.version for _, movable, _ in ways for file in movable}
        if versions:
            self._journal.write_intent(chunk.number, versions, run.at())
        settled.update({row.path: row for way, movable, _ in ways for row in _take(way, movable)})
        rows = [settled[file.path] for file in files]
        run.finish(self._journal, APPLY, chunk.number, rows)
        if chunk.is_metadata:
            self._remember(chunk, rows)
        # New references may lead to files of all earlier chunks: then all are checked.
        self._refuse_missed(
            [chunk.number]
            if self._watched_names() <= self._names_checked
            else self._journal.finished_chunks()
        )

    def _objections(self, chunk: Chunk, files: Sequence[Planned]) -> dict[str, str]:
        """Path → why the file may no longer be removed."""
        objections = self._fresh_verdicts.objections(
            files, metadata=chunk.is_metadata, quarantined=self._quarantined
        )
        objections |= dict.fromkeys(self._needs.among(chunk), "it may be needed by now")
        unknown_checkpoint = next(
            (path for path in sorted(self._watch.appeared) if not self._needs.knows(path)), None
        )
        if unknown_checkpoint is not None:
            # Its job may need files without naming them, which the audit did not search for.
            why = f"{unknown_checkpoint} appeared in between, and may need it"
            objections |= dict.fromkeys(self._needs.among(chunk, of_any=True), why)
        return objections

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
        """Remember quarantined files; protect files that other planned checkpoints refer to."""
        planned = {file.path: file for file in self._run.planned(chunk)}
        for row in rows:
            if row.outcome == FileOutcome.QUARANTINED:
                self._quarantined.add(row.path)
            elif row.outcome != FileOutcome.GONE:
                file = planned[row.path]
                self._watch.read(MetadataFile(file.path, read_at=file.source, within=file.base))

    def _refuse_future(self) -> None:
        for audit in self._run.reader.manifest.audits:
            if audit.as_of and datetime.fromisoformat(audit.as_of) > self._run.at() + CLOCK_SKEW:
                raise Halted(
                    f"Audit {audit.audit_id}, which the plan rests on, is of {audit.as_of}: yet to "
                    "come. Make a new plan."
                )

    def _refuse_expired(self) -> None:
        if self._run.at() >= datetime.fromisoformat(self._run.reader.manifest.expires_at):
            raise Halted("The plan expired before it was done; what is left is for a new plan.")

    def _audit_again(self) -> None:
        """Audit again if the last audit is too old, or if a job was restored from a planned
        checkpoint since. Raises :class:`Halted` in doubt.
        """
        manifest = self._run.reader.manifest
        while self._fresh is None or self._is_outdated(self._fresh):
            self._watch.begin()
            self._restored = self._restored_from(self._waste_metadata)
            self._fresh = self._recheck.fresh()
            refuse_doubt(self._fresh, [root.uri for root in manifest.roots if root.files])
            attested = [statement.subject for statement in manifest.statements]
            self._fresh_verdicts = FreshVerdicts(self._fresh)
            self._needs = HiddenNeeds(self._fresh, attested)
            self._needs.refuse_inherited(sorted(self._quarantined))
            self._references = references_in(self._fresh, self._watch.planned, self._waste_metadata)

    def _is_outdated(self, audit: FreshAudit) -> bool:
        return self._run.at() - audit.as_of > FRESH_FOR or bool(
            self._restored_from(self._waste_metadata) - self._restored
        )

    @cached_property
    def _waste_metadata(self) -> set[str]:
        """Paths of waste checkpoints in the plan, whose references protect no file."""
        parts = self._run.reader.manifest.metadata_parts
        return {
            path
            for number in range(parts)
            for path in self._run.reader.part(number)["path"].to_pylist()
        }

    def _watched_names(self) -> set[str]:
        """Names of planned files that a checkpoint refers to."""
        return set(self._references) | set(self._watch.referred)

    def _refuse_missed(self, chunks: Iterable[int]) -> None:
        """Raises :class:`PutBack` if a checkpoint misses files that these chunks moved, under any
        name of their directory.
        """
        names = self._watched_names()
        if names:
            references = {
                name: [*self._references.get(name, ()), *self._watch.references(name)]
                for name in names
            }
            rows = (row for chunk in chunks for row in self._journal.read(chunk).rows)
            moved: dict[str, set[str]] = {}
            for row in rows:
                name = name_of(row.path)
                if row.outcome == FileOutcome.QUARANTINED and name in names:
                    place = row.quarantine or self._run.places.read_at(row.path)
                    moved.setdefault(name, set()).add(place)
            missed = missed_references(references, moved, self._storage)
            if missed:
                self._put_back(_sentence_on(missed))
        self._names_checked = names

    def _put_back(self, why: str) -> None:
        try:
            undo(self._run)
        except Halted as error:
            raise Halted(f"{why}. {error}") from error
        journal = self._run.journal(UNDO)
        remaining = sum(
            row.outcome not in (FileOutcome.RESTORED, FileOutcome.GONE)
            for chunk in journal.finished_chunks()
            for row in journal.read(chunk).rows
        )
        exception = ""
        if remaining:
            exception = f", but for {remaining:,} that stay in quarantine; the journal says why"
        raise PutBack(
            f"{why}. Everything that the plan had moved was put back{exception}. Look for a "
            "directory that has two names."
        )


def _take(way: Mechanism, files: Sequence[Planned]) -> list[Row]:
    """A row for each file; if it failed, also what is found afterwards: the storage may have done
    what it did not answer.
    """
    rows = way.take(files)
    unsure = {row.path for row in rows if row.outcome in (FileOutcome.FAILED, FileOutcome.GONE)}
    versions = {file.path: (file.version or "",) for file in files}
    try:
        return rows + way.settle([file for file in files if file.path in unsure], versions)
    except (TreeError, OSError) as error:
        raise Halted(
            f"The storage refused files and then to look at them ({error}). When it answers, apply "
            "or undo the plan."
        ) from error


def _sentence_on(missed: Sequence[Reference]) -> str:
    return (
        f"Retained checkpoints newly miss {len(missed):,} files that the plan had moved, such as "
        f"{missed[0]}"
    )
