from typing import Any

from django.db.models import QuerySet

from spark_jobs.diagnosis.findings import CONFIDENCES
from webapp.findings.choices import FindingState, Severity
from webapp.fleet.filters import LABEL, OfAnyAttempt
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Text

ANY_STATE = "any"


class FindingFilters(OfAnyAttempt):
    rule = Text(about="e.g. pressure.root")
    label = LABEL
    state = Choice((*FindingState.values, ANY_STATE), method="in_state")
    severity = Choice(Severity.values)
    confidence = Choice(CONFIDENCES)
    time_field = "last_seen"
    defaults = {"state": FindingState.OPEN}

    def in_state(self, rows: QuerySet[Any], name: str, state: str) -> QuerySet[Any]:
        return rows if state == ANY_STATE else rows.filter(state=state)

    @property
    def page_keys(self) -> tuple[KeysetColumn, ...]:
        """The worst first of what is open, the newest of the past."""
        is_open = self.values.get("state") == FindingState.OPEN
        worst = KeysetColumn("severity_rank", descending=True)
        return (worst, *self.order) if is_open else self.order
