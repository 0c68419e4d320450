from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from spark_jobs.diagnosis.findings import CONFIDENCES
from webapp.findings.choices import FindingState, Severity
from webapp.fleet.filters import LABEL, NoFilter, OfAnyAttempt
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import SORT
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Text

ANY_STATE = "any"
BURN = "burn"


class FindingFilters(OfAnyAttempt):
    rule = Text(about="e.g. pressure.root")
    label = LABEL
    state = Choice((*FindingState.values, ANY_STATE), method="filter_state")
    severity = Choice(Severity.values)
    confidence = Choice(CONFIDENCES)
    time_field = "last_seen"
    defaults = {"state": FindingState.OPEN}

    def filter_state(self, rows: QuerySet[Any], name: str, state: str) -> QuerySet[Any]:
        return rows if state == ANY_STATE else rows.filter(state=state)


class PageFilters(FindingFilters):
    """Open findings are sorted worst first, others newest first; with ``sort``, findings of jobs
    that burn an objective fastest come first.
    """

    sort = NoFilter((BURN,))

    @property
    def keys(self) -> tuple[KeysetColumn, ...]:
        worst_first = (KeysetColumn("severity_rank", descending=True), *self.order)
        if self.values.get(SORT) != BURN:
            return worst_first if self.values.get("state") == FindingState.OPEN else self.order
        newest_attempt = JobCurrent.objects.newest_attempts().filter(
            cluster=OuterRef("cluster"), first_attempt_id=OuterRef("first_attempt_id")
        )
        burn = Coalesce(Subquery(newest_attempt.values("burn")[:1]), Value(-1.0))
        return KeysetColumn("burn", descending=True, expression=burn), *worst_first
