from typing import Any

from django.db.models import QuerySet

from spark_jobs.serving import FAILED_OUTCOMES, OUTCOMES
from webapp.fleet.filters import OfAttempts
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import newest_first
from webapp.lib.query_parameters import Choice, Flag, Text, Whole

SAVEPOINTS = "savepoints"


class CheckpointFilters(OfAttempts):
    checkpoint_id = Whole()
    outcome = Choice(OUTCOMES)
    is_savepoint = Flag()
    reason = Text(about="e.g. CHECKPOINT_EXPIRED")
    time_field = "trigger_time"


class JobCheckpointFilters(ListFilters):
    outcome = Choice((*OUTCOMES, SAVEPOINTS), method="in_group")
    order = newest_first("trigger_time")

    def in_group(self, rows: QuerySet[Any], name: str, group: str) -> QuerySet[Any]:
        if group == SAVEPOINTS:
            return rows.filter(is_savepoint=True)
        return rows.filter(outcome__in=FAILED_OUTCOMES if group == "failed" else [group])


class UploadFilters(OfAttempts):
    checkpoint_id = Whole()
    time_field = "trigger_time"


class RollupFilters(OfAttempts):
    period = Choice(("hour", "day"))
    time_field = "period_start"
