from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import NEWEST_ROWS_FIRST
from webapp.lib.query_parameters import Choice, Text
from webapp.reports.choices import ReportState


class ReportFilters(ListFilters):
    state = Choice(ReportState.values)
    from_alert = Text(about="uid of the alert or the incident it was made from")
    time_field = "asked_at"
    order = NEWEST_ROWS_FIRST
