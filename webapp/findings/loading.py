from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from webapp.findings import folding, job_judgements, occurrences
from webapp.findings.occurrences import Changed
from webapp.work.lease import WriteGuard

Rows = Sequence[Mapping[str, Any]]


@dataclass
class FindingLoad:
    """``before`` each batch of a table is upserted, in the same transaction; ``finish`` after the
    last table.

    Judgements are loaded before occurrences: those of the judged windows are replaced.
    """

    guard: WriteGuard
    say: Callable[[str], None]
    changed: Changed = field(default_factory=Changed)

    def before(self, table: str, rows: Rows) -> None:
        if table == "job_judgement":
            occurrences.delete_superseded(rows, self.changed)
        elif table == "finding_occurrence":
            self.changed.add_occurrences(rows)

    def finish(self, judgements: Iterable[Rows]) -> None:
        now = timezone.now()
        occurrences.left_to_fold(self.changed)
        changed = self.changed.of_jobs()
        folded = 0
        for identities in folding.some_jobs_at_once(changed):
            with self.guard.writing():
                folded += folding.fold(identities, changed, now)
        with self.guard.writing():
            closed = job_judgements.close_unseen()
        for rows in judgements:
            with self.guard.writing():
                job_judgements.give_health(rows)
        if folded or closed:
            self.say(f"findings: {folded} opened or changed, {closed} closed")
