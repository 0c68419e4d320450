"""What reports can be narrowed by."""

from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Text
from webapp.reports.choices import ReportKind, ReportState

NEWEST_FIRST = (KeysetColumn("id", descending=True),)


class ReportFilters(ListFilters):
    kind = Choice(ReportKind.values)
    state = Choice(ReportState.values)
    from_alert = Text(about="uid of the alert it was made from")
    time_field = "asked_at"
