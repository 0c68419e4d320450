"""Delete for good what has waited in quarantine, once more after everything was audited afresh: nothing may miss it."""

from collections.abc import Sequence

import fsspec
import pyarrow.compute as pc
import pyarrow.parquet as pq

from webapp.storage.cleanup.applying import close_open_chunks
from webapp.storage.cleanup.errors import Halted
from webapp.storage.cleanup.journal import Row
from webapp.storage.cleanup.outcomes import Outcome
from webapp.storage.cleanup.places import Planned
from webapp.storage.cleanup.rechecking import FreshAudit, Recheck, refuse_doubt
from webapp.storage.cleanup.run import APPLY, PURGE, Run
from webapp.storage.cleanup.undoing import quarantined
from webapp.storage.cleanup.watching import PlannedPaths, Watch

BATCH_ROWS = 50_000
NAMED = 3


def purge(run: Run, recheck: Recheck, watch: Watch, planned: PlannedPaths) -> None:
    """Raises :class:`Halted`, with nothing deleted, where a checkpoint refers to any of the files by now."""
    close_open_chunks(run)
    run.reader.verify()
    applied, journal = run.journal(APPLY), run.journal(PURGE)
    applied.verify()
    wanted, done = set(applied.done()), set(journal.done())
    watch.begin()
    audit = recheck.fresh()
    refuse_doubt(audit, [root.uri for root in run.reader.manifest.roots if root.files])
    watch.look()
    missed = _referred(audit, planned) | watch.referred
    _refuse_missed(run, missed)
    for chunk in run.reader.chunks():
        if chunk.number not in wanted or chunk.number in done:
            continue
        files = quarantined(run, applied, chunk)
        tried = set(journal.intents(chunk.number))
        if files:
            journal.intend(chunk.number, [file.path for file in files], run.at())
        rows = run.each(files, lambda file, tried=tried: _delete(run, file, was_tried=file.path in tried))  # type: ignore[misc]
        run.finish(journal, PURGE, chunk.number, rows)
    for folder in run.places.folders:
        run.files.remove_empty(folder)


def _delete(run: Run, file: Planned, *, was_tried: bool) -> Row:
    found = run.files.stat(file.target)
    if found is None:
        return run.row(file, Outcome.PURGED if was_tried else Outcome.GONE)
    if found.bytes != file.bytes:
        return run.row(file, Outcome.CHANGED, f"{found.bytes} bytes in quarantine instead of {file.bytes}")
    run.files.delete(file.target, found)
    return run.row(file, Outcome.PURGED)


def _referred(audit: FreshAudit, planned: PlannedPaths) -> dict[str, str]:
    """Path of the plan → a retained checkpoint that refers to it now."""
    found: dict[str, str] = {}
    for file in audit.reference_files:
        with fsspec.open(file, "rb") as stream:
            for batch in pq.ParquetFile(stream).iter_batches(BATCH_ROWS, columns=["audit_id", "metadata_path", "path"]):
                batch = batch.filter(pc.equal(batch["audit_id"], audit.audit_id))
                among = set(planned.among(batch["path"].cast("string")))
                if among:
                    found.update({row["path"]: row["metadata_path"] for row in batch.to_pylist() if row["path"] in among})
    return found


def _refuse_missed(run: Run, missed: dict[str, str]) -> None:
    if not missed:
        return
    applied = run.journal(APPLY)
    hits: list[str] = []
    for chunk in applied.done():
        hits += [row.path for row in applied.read(chunk).rows if row.outcome == Outcome.QUARANTINED and row.path in missed]
    if hits:
        named = "; ".join(f"{path} by {missed[path]}" for path in _first(hits))
        raise Halted(f"{len(hits):,} files in quarantine are referred to by now: {named}. Nothing was purged: undo the plan.")


def _first(paths: Sequence[str]) -> Sequence[str]:
    return paths[:NAMED]
