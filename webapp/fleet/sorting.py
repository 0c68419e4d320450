"""The orders of the fleet page, each with an index. The key is never null, and ``id`` makes it
unique, so that a page continues after ``(key, id)`` at constant cost.
"""

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Case, ExpressionWrapper, F, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

UNKNOWN_AS, ENDED_FROM, MOST_TROUBLE = 90, 200, 200
"""Unknown health sorts between healthy and unhealthy jobs. Ended jobs come last."""


def worst_first() -> Combinable:
    """Failed ended jobs (trouble 80 or more) come before those that ended normally, since a finding
    adds at most 40.
    """
    trouble = F("trouble") + F("worst_finding_points")
    ended = ExpressionWrapper(Value(ENDED_FROM + MOST_TROUBLE) - trouble, models.IntegerField())
    unknown = Value(UNKNOWN_AS)
    return Case(
        When(health_state="ended", then=ended),
        When(health=None, then=unknown),
        default=F("health"),
        output_field=models.IntegerField(),
    )


@dataclass(frozen=True)
class Sort:
    """``null_as``: value as which null sorts; ``descending``: direction of the first click."""

    name: str
    field: str
    null_as: Any = None
    descending: bool = True

    @property
    def key(self) -> Combinable:
        """Also the expression of the index."""
        if self.name == "health":
            return worst_first()
        if self.null_as is None:
            return F(self.field)
        null_as: Combinable = Value(self.null_as)
        return Coalesce(F(self.field), null_as)

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
