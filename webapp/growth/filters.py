from typing import Any

from django.db.models import Q, QuerySet

from webapp.fleet.filters import LABEL, NoFilter
from webapp.growth.sorting import SORTS, GrowthSort
from webapp.growth.trends import WINDOWS
from webapp.lib.filter_sets import SORT, ListFilters, OfJob
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Flag, Text

DEFAULT_DAYS = 30


class GrowthFilters(ListFilters):
    days = Choice(
        [str(days) for days in WINDOWS],
        "window_days",
        about=f"the window, {DEFAULT_DAYS} days where none is given",
    )
    cluster = Text()
    label = LABEL
    q = Text(method="by_name", about="part of the name, or how the id of the job begins")
    ended = Flag(about="jobs that have ended, or that have not")
    sort = NoFilter(list(SORTS), about="what comes first; unknown comes last")
    defaults = {"days": str(DEFAULT_DAYS), "sort": "growth"}

    def by_name(self, jobs: QuerySet[Any], name: str, text: str) -> QuerySet[Any]:
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
