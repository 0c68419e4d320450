"""What checkpoints, their uploads and their roll-ups can be narrowed by."""

from spark_jobs.serving import OUTCOMES
from webapp.lib.filter_sets import OfJob
from webapp.lib.query_parameters import Choice, Flag, Text, Whole


class CheckpointFilters(OfJob):
    checkpoint_id = Whole()
    outcome = Choice(OUTCOMES)
    is_savepoint = Flag()
    reason = Text(about="e.g. CHECKPOINT_EXPIRED")
    time_field = "trigger_time"


class UploadFilters(OfJob):
    checkpoint_id = Whole()
    time_field = "trigger_time"


class RollupFilters(OfJob):
    period = Choice(("hour", "day"))
    time_field = "period_start"
