"""Sorts of the fleet page: an allow-list, each entry with its own index.

The sort key is never null (unknown sorts below everything, except by health), and ``id`` breaks
ties, so that a page can continue after ``(key, id)`` of the last row seen, which costs the same on
page 1 and on page 1,000.
"""

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Case, ExpressionWrapper, F, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

UNKNOWN_AS, ENDED_FROM, MOST_TROUBLE = 90, 200, 200
"""Not knowing is worse than being healthy, and better than being known to be ill.

What has ended comes last.
"""


def worst_first() -> Combinable:
    """Health, lowest first; unknown before healthy; ended jobs last, by how they ended, then by
    findings. Failed jobs (trouble 80 or more) stay before jobs that ended normally (9 at most), as
    a finding adds at most 40.
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
    """``lowest`` replaces null; ``descending`` is the direction a first click gives."""

    name: str
    field: str
    lowest: Any = None
    descending: bool = True

    @property
    def key(self) -> Combinable:
        """The expression of annotation, order and comparison; the index uses the same."""
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
        Sort("cluster", "cluster", descending=False),
        Sort("state", "state", "", descending=False),
        Sort("duration", "end_to_end_p95_ms", -1.0),
        Sort("size", "state_bytes", -1),
        Sort("uploaded", "checkpointed_bytes", -1),
        Sort("failed", "recent_failed", -1),
        Sort("pressure", "pressured_share", -1.0),
        Sort("restarts", "restarts", -1),
        Sort("orphans", "orphan_bytes", -1),
        Sort("burn", "burn", -1.0),
    )
}
"""Name in the URL → sort. ``health`` is the default."""
WORST_FIRST = FLEET_SORTS["health"]
