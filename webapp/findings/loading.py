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
    """Call ``before`` for each batch of a table, in the transaction that stores it, and ``finish``
    after the last table. Judgements are loaded first: they delete the occurrences of the windows
    that they judged.
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
        occurrences.add_left_to_fold(self.changed)
        changed = self.changed.of_jobs()
        folded = 0
        for identities in folding.some_jobs_at_once(changed):
            with self.guard.writing():
                folded += folding.fold(identities, changed, now)
        with self.guard.writing():
            closed = job_judgements.close_unseen()
        for rows in judgements:
            with self.guard.writing():
                job_judgements.set_health(rows)
        if folded or closed:
            self.say(f"findings: {folded} opened or changed, {closed} closed")
