"""Deletes quarantined files for good, after one more audit that shows that nothing needs them."""

from collections.abc import Sequence

from webapp.cleanup.errors import Halted
from webapp.cleanup.file_names import name_of
from webapp.cleanup.hidden_needs import HiddenNeeds
from webapp.cleanup.interrupted_chunks import close_open_chunks
from webapp.cleanup.journal import APPLY, PURGE
from webapp.cleanup.places import Planned
from webapp.cleanup.quarantine import refuse_unsafe
from webapp.cleanup.recheck import Recheck, refuse_doubt
from webapp.cleanup.references import References, Storage, references_in
from webapp.cleanup.run import Run
from webapp.cleanup.undoing import quarantined_files
from webapp.cleanup.watching import Reference, Watch
from webapp.cleanup.ways import each_way

MOST_NAMED = 3


def purge(run: Run, recheck: Recheck, watch: Watch, storage: Storage | None = None) -> None:
    """Raises :class:`Halted` if a checkpoint refers to a quarantined file under any name, or if a
    job may need one without a reference. Such files are not deleted.
    """
    manifest, storage = run.reader.manifest, storage or Storage()
    refuse_unsafe(manifest.roots, manifest.searched_roots)
    run.reader.verify()
    applied, purged = run.journal(APPLY), run.journal(PURGE)
    run.verify(applied)
    run.verify(purged)
    close_open_chunks(run)
    remaining = set(applied.finished_chunks()) - set(purged.finished_chunks())
    watch.begin()
    audit = recheck.fresh()
    refuse_doubt(audit, [root.uri for root in manifest.roots if root.files])
    watch.look(at_once=True)
    referred = references_in(audit, watch.planned)
    needs = HiddenNeeds(audit, [statement.subject for statement in manifest.statements])
    for chunk in run.reader.chunks():
        needed = needs.among(chunk) if chunk.number in remaining else set()
        if needed:
            _refuse_needed(
                [file for file in quarantined_files(run, applied, chunk) if file.path in needed]
            )
    if referred or watch.referred:
        for chunk in run.reader.chunks():
            if chunk.number in remaining:
                _refuse_missed(quarantined_files(run, applied, chunk), referred, watch, storage)
    for chunk in run.reader.chunks():
        if chunk.number in remaining and chunk.is_metadata:
            needs.refuse_inherited(file.path for file in quarantined_files(run, applied, chunk))
    for chunk in run.reader.chunks():
        if chunk.number not in remaining:
            continue
        files = quarantined_files(run, applied, chunk)
        watch.look()
        _refuse_missed(files, referred, watch, storage)
        interrupted = purged.intents(chunk.number)
        if files:
            purged.write_intent(chunk.number, {file.path: file.version for file in files}, run.at())
        # The lambda is called at once.
        rows = each_way(run, files, lambda way, group: way.purge(group, interrupted))  # noqa: B023
        run.finish(purged, PURGE, chunk.number, rows)
    run.refuse_not_done()
    for folder in run.places.folders:
        run.files.remove_empty(folder)


def _refuse_needed(files: Sequence[Planned]) -> None:
    if files:
        raise Halted(
            f"{len(files):,} files in quarantine may be needed by now, such as {files[0].path}: a "
            "snapshot is retained of their job, or of one that stems from it; or the audit has a "
            "doubt that reaches them; or the attestation that their job is dead does not count any "
            "more; or their directory was excluded. None of these was purged: undo the plan."
        )


def _refuse_missed(
    files: Sequence[Planned], referred: References, watch: Watch, storage: Storage
) -> None:
    """Raises :class:`Halted` if a reference leads to a quarantined file. A reference to another
    path is harmless if it leads to another copy.
    """
    hits: list[Reference] = []
    for file in files:
        name = name_of(file.path)
        references = [*referred.get(name, ()), *watch.references(name)]
        hits += [
            reference
            for reference in references
            if reference.path == file.path or not storage.has(reference.path, besides=file.target)
        ][:1]
    if hits:
        examples = "; ".join(map(str, hits[:MOST_NAMED]))
        raise Halted(
            f"{len(hits):,} files in quarantine are referred to by now: {examples}. None of these "
            "was purged: undo the plan."
        )
