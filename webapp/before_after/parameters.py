"""Around which instant, and over how long."""

from webapp.before_after.windows import DEFAULT, LENGTHS
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Choice, Instant


class ChangeParameters(ListFilters):
    at = Instant(about="when it happened: an ISO 8601 instant, or relative as in now-6h")
    window = Choice(tuple(LENGTHS), about=f"how long before and after; {DEFAULT} where none is given")
    defaults = {"window": DEFAULT}
