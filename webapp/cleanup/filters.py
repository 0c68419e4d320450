from webapp.cleanup.choices import PlanState
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import NEWEST_ROWS_FIRST
from webapp.lib.query_parameters import Choice, Text


class PlanFilters(ListFilters):
    state = Choice(PlanState.values)
    name = Text()
    time_field = "created_at"
    order = NEWEST_ROWS_FIRST
