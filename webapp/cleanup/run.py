"""What carrying out a plan needs, whichever way it goes: files, places, journal, pace, and proof
that nobody else is at it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from ingest.storage.tree import TreeError
from webapp.cleanup.errors import Halted
from webapp.cleanup.journal import Journal, Row, tally
from webapp.cleanup.manifest import instant_text
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Files, Places, Planned
from webapp.cleanup.plan_reader import Chunk, PlanReader
from webapp.cleanup.rate_limit import RateLimit

HOLD_EVERY_S = 5.0
FAILURES_IN_A_ROW = 20
"""After so many refusals by the storage it is asked no more."""


@dataclass
class Run:
    """One attempt at one plan. ``hold`` raises where another process has taken the plan over.

    ``progress`` hears after each chunk what became of its files, by outcome.
    """

    reader: PlanReader
    files: Files
    pace: RateLimit
    at: Callable[[], datetime]
    hold: Callable[[], None] = lambda: None
    progress: Callable[[str, Counter[str]], None] = lambda verb, counts: None
    by: str = ""
    ordered_by: str = ""
    _held_at: float = field(default=0.0)
    _failures: int = 0

    @cached_property
    def places(self) -> Places:
        return Places(self.reader.manifest, self.reader.name)

    def journal(self, verb: str) -> Journal:
        return Journal(self.reader.folder, self.reader.name, verb, self.by, self.ordered_by)

    def planned(self, chunk: Chunk) -> list[Planned]:
        return [self.places.of(row) for row in chunk.rows.to_pylist()]

    def refuse_linked(self, file: Planned) -> None:
        """Raises :class:`Halted` where the way to its place in quarantine leads over a link: that
        is not how it came there.
        """
        if self.files.is_behind_link(file.quarantine, file.target):
            raise Halted(
                f"{file.target} in quarantine is a link or lies behind one, which leads elsewhere. "
                "Nothing is moved or deleted "
                "through links: restore the quarantine as it was, then continue."
            )

    def verify(self, journal: Journal) -> None:
        """Raises ``PlanDamaged`` where the journal is not, word for word, what was written of this
        plan.
        """
        journal.verify()
        written = journal.written()
        for chunk in self.reader.chunks() if written else ():
            names = written.pop(chunk.number, None)
            if names:
                journal.refuse_foreign(
                    chunk.number,
                    names,
                    {file.path: (file.bytes, file.target) for file in self.planned(chunk)},
                )
        for number, names in written.items():
            journal.refuse_foreign(number, names, {})

    def still_mine(self) -> None:
        """Cheap enough to ask before each file."""
        if time.monotonic() - self._held_at > HOLD_EVERY_S:
            self.hold()
            self._held_at = time.monotonic()

    def row(self, file: Planned, outcome: str, detail: str | None = None) -> Row:
        kept = outcome in (FileOutcome.QUARANTINED, FileOutcome.OCCUPIED)
        return Row(
            file.path,
            outcome,
            file.bytes,
            instant_text(self.at()),
            file.target if kept else None,
            detail,
        )

    def each(self, files: Iterable[Planned], act: Callable[[Planned], Row]) -> list[Row]:
        """Do it to all of them, at the pace.

        What the storage refuses is a row like others, until it refuses everything.
        """
        rows = []
        for file in files:
            if self._failures >= FAILURES_IN_A_ROW:
                rows.append(
                    self.row(file, FileOutcome.NOT_REACHED, "the storage refused too often")
                )
                continue
            self.pace.step()
            self.still_mine()
            try:
                rows.append(act(file))
            except (TreeError, OSError) as error:
                self._failures += 1
                rows.append(
                    self.row(file, FileOutcome.FAILED, f"{type(error).__name__}: {error}"[:500])
                )
            else:
                self._failures = 0
        return rows

    def finish(self, journal: Journal, verb: str, chunk: int, rows: list[Row]) -> None:
        """Journal the chunk. Raises :class:`Halted` where the storage refuses everything."""
        self.hold()
        journal.effect(chunk, rows, self.at())
        self.progress(verb, tally(rows))
        if self._failures >= FAILURES_IN_A_ROW:
            last = next(row for row in reversed(rows) if row.outcome == FileOutcome.FAILED)
            raise Halted(
                f"The storage refused {self._failures} files in a row; the last: {last.detail}. "
                "Nothing more was touched."
            )
