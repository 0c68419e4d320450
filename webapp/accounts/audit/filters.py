from typing import Any

from django.db.models import QuerySet

from webapp.accounts.audit.actions import action_codes
from webapp.accounts.models import AuditEntry
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import NEWEST_ROWS_FIRST
from webapp.lib.query_parameters import Choice, Text

UNKNOWN = "unknown"


class AuditFilters(ListFilters):
    person = Text(about="user name, exactly")
    action = Choice(action_codes())
    object = Text("subject", "icontains", about="part of what it was done to")
    outcome = Choice(
        (*(value for value in AuditEntry.Outcome.values if value), UNKNOWN), method="filter_outcome"
    )
    request_id = Text()
    time_field = "at"
    order = NEWEST_ROWS_FIRST

    def filter_outcome(self, rows: QuerySet[Any], name: str, outcome: str) -> QuerySet[Any]:
        return rows.filter(outcome="" if outcome == UNKNOWN else outcome)
