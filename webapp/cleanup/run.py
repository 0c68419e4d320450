"""The shared part of apply, undo and purge: files, places, journal, pace and the lease."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from ingest.storage.tree import TreeError
from webapp.cleanup.choices import IN_PLACE
from webapp.cleanup.errors import Halted
from webapp.cleanup.journal import APPLY, Journal, Row, tally
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Places, Planned, TreeFiles
from webapp.cleanup.plan_reader import Chunk, PlanReader
from webapp.cleanup.rate_limit import RateLimit
from webapp.lib.instants import iso_text

HOLD_EVERY_S = 5.0
FAILURES_IN_A_ROW = 20
AT_ONCE = 16
"""Files that are moved or deleted in parallel, if each needs requests of its own."""


@dataclass
class Run:
    """One attempt at one plan. ``hold`` renews the lease; it raises if the plan has another process
    or order. ``progress`` gets verb and outcomes after each chunk.
    """

    reader: PlanReader
    files: TreeFiles
    pace: RateLimit
    at: Callable[[], datetime]
    hold: Callable[[], None] = lambda: None
    progress: Callable[[str, Counter[str]], None] = lambda verb, counts: None
    by: str = ""
    ordered_by: str = ""
    _held_at: float = field(default=0.0)
    _failures: int = 0
    _not_done: list[Row] = field(default_factory=list)

    @cached_property
    def places(self) -> Places:
        return Places(self.reader.manifest, self.reader.name)

    def journal(self, verb: str) -> Journal:
        return Journal(self.reader.folder, self.reader.name, verb, self.by, self.ordered_by)

    def planned(self, chunk: Chunk) -> list[Planned]:
        return [self.places.of(row) for row in chunk.rows.to_pylist()]

    def refuse_linked(self, file: Planned) -> None:
        """Raises :class:`Halted` if the path in quarantine contains a link, which Weir never made."""
        if self.files.is_behind_link(file.quarantine, file.target):
            raise Halted(
                f"{file.target} in quarantine is a link or lies behind one, which leads elsewhere. "
                "Nothing is moved or deleted "
                "through links: restore the quarantine as it was, then continue."
            )

    def verify(self, journal: Journal) -> None:
        """Raises ``PlanDamaged`` if the journal was altered."""
        journal.verify()
        files = journal.files_by_chunk()
        for chunk in self.reader.chunks() if files else ():
            names = files.pop(chunk.number, None)
            if names:
                journal.refuse_foreign(
                    chunk.number,
                    names,
                    {file.path: (file.bytes, file.target) for file in self.planned(chunk)},
                )
        for number, names in files.items():
            journal.refuse_foreign(number, names, {})

    def check_lease(self) -> None:
        """Calls ``hold`` if the last call was some seconds ago."""
        if time.monotonic() - self._held_at > HOLD_EVERY_S:
            self.hold()
            self._held_at = time.monotonic()

    def row(self, file: Planned, outcome: str, detail: str | None = None) -> Row:
        row = Row(file.path, outcome, file.bytes, iso_text(self.at()), detail=detail)
        if outcome not in (FileOutcome.QUARANTINED, FileOutcome.OCCUPIED):
            return row
        if file.way not in IN_PLACE:
            return replace(row, quarantine=file.target)
        return replace(row, way=file.way, version=file.version, markers=list(file.markers))

    def failed(self, file: Planned, error: OSError | TreeError) -> Row:
        return self.row(file, FileOutcome.FAILED, f"{type(error).__name__}: {error}"[:500])

    def each(self, files: Sequence[Planned], act: Callable[[Planned], Row]) -> list[Row]:
        def attempt(file: Planned) -> Row:
            try:
                return act(file)
            except (TreeError, OSError) as error:
                return self.failed(file, error)

        def side_by_side(batch: Sequence[Planned]) -> list[Row]:
            return list(map(attempt, batch) if len(batch) == 1 else self._pool.map(attempt, batch))

        is_local = not any("://" in file.source or "://" in file.target for file in files)
        return self.in_batches(files, side_by_side, 1 if is_local else 4 * AT_ONCE)

    def in_batches(
        self,
        files: Sequence[Planned],
        act: Callable[[Sequence[Planned]], list[Row]],
        most: int,
    ) -> list[Row]:
        """Calls ``act`` with up to ``most`` files at a time, at the pace; returns a row for each
        file.
        """
        rows: list[Row] = []
        size = self.pace.batch_size(most)
        for first in range(0, len(files), size):
            batch = files[first : first + size]
            if self._failures >= FAILURES_IN_A_ROW:
                why = "the storage refused too often"
                rows += [self.row(file, FileOutcome.NOT_REACHED, why) for file in batch]
                continue
            self.pace.step(len(batch))
            self.check_lease()
            try:
                batch_rows = act(batch)
            except (TreeError, OSError) as error:
                batch_rows = [self.failed(file, error) for file in batch]
            for row in batch_rows:
                self._failures = self._failures + 1 if row.outcome == FileOutcome.FAILED else 0
            rows += batch_rows
        return rows

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(AT_ONCE)

    def finish(self, journal: Journal, verb: str, chunk: int, rows: list[Row]) -> None:
        """Chunks of an undo or a purge stay open from the first with a failure on, so that the next
        attempt repeats them. Raises :class:`Halted` after too many failures in a row.
        """
        self.hold()
        failed = [row for row in rows if row.outcome == FileOutcome.FAILED]
        if verb != APPLY:
            self._not_done += failed
        if not self._not_done:
            journal.write_effect(chunk, rows, self.at())
            self.progress(verb, tally(rows))
        if not failed:
            self._failures = 0
        elif self._failures >= FAILURES_IN_A_ROW:
            raise Halted(
                f"The storage refused {self._failures} files in a row; the last: "
                f"{failed[-1].detail}. Nothing more was touched."
            )

    def refuse_not_done(self) -> None:
        """Raises :class:`Halted` if files of an undo or a purge failed."""
        if self._not_done:
            first = self._not_done[0]
            raise Halted(
                f"{len(self._not_done):,} files are still in quarantine, such as {first.path} "
                f"({first.detail}). When the storage allows it, give the same order again."
            )
