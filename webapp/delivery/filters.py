from webapp.delivery.choices import DeliveryState
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import NEWEST_ROWS_FIRST
from webapp.lib.query_parameters import Choice, Whole


class DeliveryFilters(ListFilters):
    endpoint = Whole()
    state = Choice(DeliveryState.values)
    time_field = "made_at"
    order = NEWEST_ROWS_FIRST
