from typing import Any

from django.db.models import Case, QuerySet, Value, When

from webapp.alerting.choices import OPEN, AlertState, Mute
from webapp.findings.choices import Severity
from webapp.fleet.filters import LABEL, OfAnyAttempt
from webapp.incidents.filters import NOBODY
from webapp.incidents.models import Incident
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import NEWEST_ROWS_FIRST, KeysetColumn
from webapp.lib.query_parameters import Choice, Flag, Text

OPEN_STATE, ANY_STATE = "open", "any"


class AlertFilters(OfAnyAttempt):
    rule = Text(about="e.g. checkpoint.declined")
    label = LABEL
    state = Choice((*AlertState.values, OPEN_STATE, ANY_STATE), method="filter_state")
    severity = Choice(Severity.values)
    acknowledged = Flag(method="filter_acknowledged")
    owner = Text(method="filter_owner", about="name of who works on it, - for nobody")
    silenced = Flag(method="filter_silenced", about="muted by anything")
    time_field = "starts_at"
    defaults = {"state": OPEN_STATE}

    def filter_state(self, rows: QuerySet[Any], name: str, state: str) -> QuerySet[Any]:
        if state == OPEN_STATE:
            return rows.filter(state__in=OPEN)
        return rows if state == ANY_STATE else rows.filter(state=state)

    def filter_acknowledged(
        self, rows: QuerySet[Any], name: str, acknowledged: bool
    ) -> QuerySet[Any]:
        return rows.filter(acknowledged_at__isnull=not acknowledged)

    def filter_silenced(self, rows: QuerySet[Any], name: str, muted: bool) -> QuerySet[Any]:
        return rows.exclude(muted_by=Mute.NONE) if muted else rows.filter(muted_by=Mute.NONE)

    def filter_owner(self, rows: QuerySet[Any], name: str, owner: str) -> QuerySet[Any]:
        if owner == NOBODY:
            return rows.exclude(incident__in=Incident.objects.exclude(owner_name=""))
        return rows.filter(incident__in=Incident.objects.filter(owner_name=owner))

    @property
    def keys(self) -> tuple[KeysetColumn, ...]:
        """By severity, then quiet alerts last; for ``resolved`` and ``any`` the newest first."""
        quiet_last = Case(When(quiet_since=None, then=Value(0)), default=Value(1))
        worst_first = (
            KeysetColumn("severity_rank", descending=True),
            KeysetColumn("is_quiet", expression=quiet_last),
            *self.order,
        )
        is_past_listed = self.values.get("state") in (AlertState.RESOLVED, ANY_STATE)
        return self.order if is_past_listed else worst_first


class SilenceFilters(ListFilters):
    time_field = "ends_at"
    order = NEWEST_ROWS_FIRST
