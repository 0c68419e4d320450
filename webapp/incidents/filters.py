from typing import Any

from django.db.models import QuerySet

from webapp.findings.choices import Severity
from webapp.fleet.filters import LABEL
from webapp.incidents.choices import IncidentState
from webapp.lib.filter_sets import OfJob
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Flag, Text

ANY_STATE, NOBODY = "any", "-"
STATES = (IncidentState.OPEN, IncidentState.CLOSED)


class IncidentFilters(OfJob):
    """Filters by the job of the cause."""

    rule = Text(about="of the cause, e.g. pressure.root")
    label = LABEL
    state = Choice((*STATES, ANY_STATE), method="in_state")
    severity = Choice((Severity.WARNING, Severity.CRITICAL), about="the worst of its findings")
    acknowledged = Flag(method="with_acknowledgement")
    owner = Text(method="owned_by", about="name of who works on it, - for nobody")
    time_field = "began_at"
    defaults = {"state": IncidentState.OPEN}

    def in_state(self, rows: QuerySet[Any], name: str, state: str) -> QuerySet[Any]:
        return rows if state == ANY_STATE else rows.filter(state=state)

    def with_acknowledgement(
        self, rows: QuerySet[Any], name: str, acknowledged: bool
    ) -> QuerySet[Any]:
        return rows.filter(acknowledged_at__isnull=not acknowledged)

    def owned_by(self, rows: QuerySet[Any], name: str, owner: str) -> QuerySet[Any]:
        return rows.filter(owner_name="" if owner == NOBODY else owner)

    @property
    def keys(self) -> tuple[KeysetColumn, ...]:
        """Pages list open incidents by severity, then past ones, newest first."""
        worst_first = (KeysetColumn("severity_rank", descending=True), *self.order)
        return worst_first if self.values.get("state") == IncidentState.OPEN else self.order
