"""Sorts of the fleet page, each with its index. The key is never null, and ``id`` breaks ties, so
that a page continues after ``(key, id)`` at constant cost.
"""

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Case, ExpressionWrapper, F, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

UNKNOWN_AS, ENDED_FROM, MOST_TROUBLE = 90, 200, 200
"""Unknown is worse than healthy and better than known to be ill. Ended jobs come last."""


def worst_first() -> Combinable:
    """Lowest health first, unknown before healthy, ended jobs last by how they ended. Failed jobs
    (trouble 80 or more) come before normally ended ones, as a finding adds at most 40.
    """
    troubled = F("trouble") + F("worst_finding_points")
    ended = ExpressionWrapper(Value(ENDED_FROM + MOST_TROUBLE) - troubled, models.IntegerField())
    unknown = Value(UNKNOWN_AS)
    whole = models.IntegerField()
    return Case(
        When(health_state="ended", then=ended),
        When(health=None, then=unknown),
        default=F("health"),
        output_field=whole,
    )


@dataclass(frozen=True)
class Sort:
    """``lowest`` replaces null; ``descending``: direction of the first click."""

    name: str
    field: str
    lowest: Any = None
    descending: bool = True

    @property
    def key(self) -> Combinable:
        """Also the expression of the index."""
        if self.name == "health":
            return worst_first()
        if self.lowest is None:
            return F(self.field)
        lowest: Combinable = Value(self.lowest)
        return Coalesce(F(self.field), lowest)

    def index(self) -> models.Index:
        return models.Index(self.key, F("id"), name=f"job_by_{self.name}")


FLEET_SORTS: dict[str, Sort] = {
    sort.name: sort
    for sort in (
        Sort("health", "health", descending=False),
        Sort("name", "name", "", descending=False),
        Sort("state", "state", "", descending=False),
        Sort("duration", "end_to_end_p95_ms", -1.0),
        Sort("size", "state_bytes", -1),
        Sort("failed", "recent_failed", -1),
        Sort("pressure", "pressured_share", -1.0),
        Sort("burn", "burn", -1.0),
    )
}
WORST_FIRST = FLEET_SORTS["health"]
