"""Queries of plans worth a name."""

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db.models import Q, QuerySet

from webapp.cleanup.choices import PlanState

if TYPE_CHECKING:
    from webapp.cleanup.models import CleanupPlan
else:
    CleanupPlan = object

AT_WORK = (PlanState.BUILDING, PlanState.APPLYING, PlanState.UNDOING, PlanState.PURGING)
"""States in which something is to be done until another one is reached."""


class CleanupPlanQuerySet(QuerySet["CleanupPlan"]):
    def due(self, now: datetime) -> Self:
        """Plans with something to do: what was asked for, or a quarantine whose time is over. After
        a purge that was stopped in doubt, somebody has to ask for it again.
        """
        return self.filter(
            Q(state__in=AT_WORK) | Q(state=PlanState.QUARANTINED, purge_at__lte=now, trouble="")
        )

    def named(self, name: str) -> "CleanupPlan | None":
        """By name or the beginning of one (8 letters at least); ``None`` where that is not one
        plan.
        """
        if len(name) < 8 or not all(letter in "0123456789abcdef" for letter in name):
            return None
        plans = list(self.filter(name__startswith=name)[:2])
        return plans[0] if len(plans) == 1 else None
