"""Moves files of a plan to a quarantine and back, and deletes them there."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from ingest.storage.buckets import MOST_KEYS, Bucket
from ingest.storage.tree import Changed, Gone, Occupied, Stat
from webapp.cleanup.journal import Row
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.run import Run


class Moving:
    def __init__(self, run: Run, quarantine: str) -> None:
        self._run, self._bucket = run, Bucket.of(quarantine)

    def look(self, files: Sequence[Planned]) -> tuple[list[Planned], list[Row]]:
        """All files: a move checks each file itself."""
        return list(files), []

    def take(self, files: Sequence[Planned]) -> list[Row]:
        return self._run.each(files, self._move)

    def settle(
        self, files: Sequence[Planned], intended: Mapping[str, Collection[str]]
    ) -> list[Row]:
        """A file was moved if it is in quarantine and not at its source. If the same file is at
        both places, the move had not ended: the copy in quarantine is deleted, and no row is
        returned.
        """
        run, rows = self._run, []
        for file in files:
            quarantined, source = run.files.stat(file.target), run.files.stat(file.source)
            if quarantined is None:
                continue
            if source is not None and source in (file.stat, quarantined):
                run.check_lease()
                run.files.delete(file.target, quarantined)
            else:
                detail = None if source is None else "another file has since taken its place"
                rows.append(run.row(file, FileOutcome.QUARANTINED, detail))
        return rows

    def put_back(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        return self._run.each(files, partial(self._put_back, interrupted=interrupted))

    def purge(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        if self._bucket is None:
            return self._run.each(files, partial(self._delete, interrupted=interrupted))
        act = partial(self._delete_together, self._bucket, interrupted=interrupted)
        return self._run.in_batches(files, act, MOST_KEYS)

    def _move(self, file: Planned) -> Row:
        run = self._run
        if run.files.is_behind_link(file.base, file.source):
            return run.row(file, FileOutcome.LINKED)
        run.refuse_linked(file)
        try:
            run.files.move(file.source, file.target, file.stat)
        except Gone:
            return run.row(file, FileOutcome.GONE)
        except Changed as error:
            return run.row(file, FileOutcome.CHANGED, str(error))
        return run.row(file, FileOutcome.QUARANTINED)

    def _put_back(self, file: Planned, *, interrupted: Collection[str]) -> Row:
        run, was_tried = self._run, file.path in interrupted
        run.refuse_linked(file)
        quarantined, source = run.files.stat(file.target), run.files.stat(file.source)
        if quarantined is None:
            is_restored = was_tried and source is not None and source.bytes == file.bytes
            return run.row(file, FileOutcome.RESTORED if is_restored else FileOutcome.GONE)
        # If the same file is at both places, repeating the move completes it.
        if source is not None and not was_tried:
            return run.row(
                file, FileOutcome.OCCUPIED, f"{source.bytes} bytes, modified {source.modified}"
            )
        if run.files.is_behind_link(file.base, file.source):
            return run.row(file, FileOutcome.OCCUPIED, "its directory is a link by now")
        try:
            run.files.move(file.target, file.source, quarantined)
        except Occupied as error:
            return run.row(file, FileOutcome.OCCUPIED, str(error))
        return run.row(file, FileOutcome.RESTORED)

    def _delete(self, file: Planned, *, interrupted: Collection[str]) -> Row:
        run = self._run
        run.refuse_linked(file)
        status = run.files.stat(file.target)
        if status is None or not file.is_kept_as(status):
            return self._row_not_purged(file, status, interrupted)
        run.files.delete(file.target, status)
        return run.row(file, FileOutcome.PURGED)

    def _delete_together(
        self, bucket: Bucket, files: Sequence[Planned], *, interrupted: Collection[str]
    ) -> list[Row]:
        run, keys = self._run, {file.path: bucket.key(file.target) for file in files}
        stats = bucket.stats(list(keys.values()))
        rows: dict[str, Row] = {}
        for file in files:
            status = stats.get(keys[file.path])
            if status is None or not file.is_kept_as(status):
                rows[file.path] = self._row_not_purged(file, status, interrupted)
        errors = bucket.delete([(keys[path], None) for path in keys if path not in rows])
        for file in files:
            error = errors.get((keys[file.path], None))
            if error is not None:
                rows[file.path] = run.failed(file, error)
            elif file.path not in rows:
                rows[file.path] = run.row(file, FileOutcome.PURGED)
        return [rows[file.path] for file in files]

    def _row_not_purged(
        self, file: Planned, status: Stat | None, interrupted: Collection[str]
    ) -> Row:
        if status is None:
            outcome = FileOutcome.PURGED if file.path in interrupted else FileOutcome.GONE
            return self._run.row(file, outcome)
        return self._run.row(
            file,
            FileOutcome.CHANGED,
            f"{status.bytes} bytes of {status.modified} in quarantine, not what was moved there",
        )
