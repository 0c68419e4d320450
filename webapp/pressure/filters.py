from webapp.fleet.filters import OfAttempts
from webapp.lib.query_parameters import Text


class PressureFilters(OfAttempts):
    vertex_id = Text()
    time_field = "window_start"


class VertexHourFilters(OfAttempts):
    vertex_id = Text()
    time_field = "period_start"
