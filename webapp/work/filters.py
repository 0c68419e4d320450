from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Choice, Text
from webapp.work.models import PipelineRun


class RunFilters(ListFilters):
    kind = Text()
    state = Choice(PipelineRun.State.values)
    time_field = "started_at"


class SkipFilters(ListFilters):
    cluster = Text()
    reason = Text()
    time_field = "observed_at"
