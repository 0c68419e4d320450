"""What the growth of jobs, and how they meet objectives, can be narrowed by."""

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.functions import Coalesce

from webapp.fleet.filters import LABEL, NoFilter
from webapp.growth.trends import WINDOWS
from webapp.lib.filter_sets import SORT, ListFilters, OfJob
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Flag, Text

FAR = 1e18


@dataclass(frozen=True)
class GrowthSort:
    """``unknown`` is beyond everything that can be known, so that it comes last."""

    name: str
    field: str
    unknown: float = -FAR
    descending: bool = True

    @property
    def key(self) -> Combinable:
        # Written into the statement: SQLite does not find an index over an expression by its
        # parameters.
        # a number of ours
        unknown = RawSQL(f"{self.unknown:.0e}", (), output_field=models.FloatField())  # noqa: S611
        return Coalesce(F(self.field), unknown)

    @property
    def keys(self) -> tuple[KeysetColumn, KeysetColumn]:
        return KeysetColumn("sort_key", self.descending, self.key), KeysetColumn(
            "id", self.descending
        )

    def index(self) -> models.Index:
        return models.Index(F("window_days"), self.key, F("id"), name=f"growth_by_{self.name}")


SORTS: dict[str, GrowthSort] = {
    sort.name: sort
    for sort in (
        GrowthSort("growth", "state_bytes_per_day"),
        GrowthSort("state", "state_bytes"),
        GrowthSort("uploaded", "uploaded_bytes"),
        GrowthSort("unreferenced", "unreferenced_bytes"),
        GrowthSort("timeout", "days_to_timeout", FAR, descending=False),
    )
}

DEFAULT_DAYS = 30


class GrowthFilters(ListFilters):
    days = Choice(
        [str(days) for days in WINDOWS],
        "window_days",
        about=f"the window, {DEFAULT_DAYS} days where none is given",
    )
    cluster = Text()
    label = LABEL
    q = Text(method="called", about="part of the name, or how the id of the job begins")
    ended = Flag(about="jobs that have ended, or that have not")
    sort = NoFilter(list(SORTS), about="what comes first; unknown comes last")
    defaults = {"days": str(DEFAULT_DAYS), "sort": "growth"}

    def called(self, jobs: QuerySet[Any], name: str, text: str) -> QuerySet[Any]:
        return jobs.filter(Q(name__icontains=text) | Q(job_id__startswith=text.lower()))

    @property
    def window(self) -> int:
        return int(self.values.get("days") or DEFAULT_DAYS)

    @property
    def sorting(self) -> GrowthSort:
        return SORTS[self.values.get(SORT) or "growth"]


class ObjectiveFilters(ListFilters):
    cluster = Text(about="that its matchers name")


class ObjectiveRecordFilters(OfJob):
    objective = Text("objective__name", about="its name")
    label = LABEL
    order = (KeysetColumn("id"),)
