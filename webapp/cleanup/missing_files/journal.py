from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from ingest.storage.plan_folder import PlanFolder
from webapp.cleanup.choices import PlanState
from webapp.cleanup.errors import PlanDamaged
from webapp.cleanup.journal import VERBS, Journal
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.outcomes import SENTENCES, FileOutcome
from webapp.cleanup.plan_reader import reader_of

MOST_PLANS = 100
_NOTHING_DONE = (
    PlanState.BUILDING,
    PlanState.REFUSED,
    PlanState.PLANNED,
    PlanState.APPROVED,
    PlanState.WITHDRAWN,
)
_REMOVED = (FileOutcome.QUARANTINED, FileOutcome.OCCUPIED, FileOutcome.PURGED)


@dataclass(frozen=True)
class Deed:
    """What a plan did to the file. ``quarantine``: where the file waits, if it was moved."""

    plan: int
    plan_name: str
    verb: str
    outcome: str
    at: datetime
    quarantine: str | None

    @property
    def has_removed(self) -> bool:
        return self.outcome in _REMOVED

    @property
    def sentence(self) -> str:
        return gettext("Plan %(plan_name)s, %(at)s UTC: %(outcome)s") % {
            "plan_name": self.plan_name,
            "at": f"{self.at:%Y-%m-%d %H:%M}",
            "outcome": SENTENCES[self.outcome],
        }


def deeds(path: str) -> tuple[list[Deed], list[str]]:
    """Deeds in order of time, and short names of plans with unreadable files."""
    all_deeds: list[Deed] = []
    unreadable: list[str] = []
    for plan in CleanupPlan.objects.exclude(state__in=_NOTHING_DONE).order_by("-id")[:MOST_PLANS]:
        try:
            all_deeds += _plan_deeds(plan, path)
        except (PlanDamaged, OSError):
            unreadable.append(plan.short_name)
    return sorted(all_deeds, key=lambda deed: deed.at), unreadable


def _plan_deeds(plan: CleanupPlan, path: str) -> Iterator[Deed]:
    chunk = reader_of(plan).chunk_of(path)
    if chunk is None:
        return
    for verb in VERBS:
        try:
            rows = Journal(PlanFolder(plan.folder), plan.name or "", verb).read(chunk).rows
        except FileNotFoundError:
            continue
        for row in rows:
            if row.path == path:
                yield Deed(
                    plan.pk,
                    plan.short_name,
                    verb,
                    row.outcome,
                    datetime.fromisoformat(row.at),
                    row.quarantine,
                )
