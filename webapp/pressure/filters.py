"""What windows of pressure can be narrowed by."""

from webapp.lib.filter_sets import OfJob
from webapp.lib.query_parameters import Text


class PressureFilters(OfJob):
    vertex_id = Text()
    time_field = "window_start"
